package cli

import "testing"

func TestErrorsAreJSONWhereTheAnswerWouldBe(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want bool
	}{
		{[]string{"list", "--json"}, true},
		{[]string{"list", "--json=true", "--nosuch"}, true},
		{[]string{"list", "--nosuch", "--json=1"}, true},
		{[]string{"list", "--json=false"}, false},
		{[]string{"list", "--json=maybe"}, false},
		{[]string{"send", "amber", "--", "--json"}, false},
		{nil, false},
	} {
		if got := wantsJSON(tc.args); got != tc.want {
			t.Errorf("%q: %t, want %t", tc.args, got, tc.want)
		}
	}
}
