package permission

import (
	"fmt"
	"testing"
)

func TestTheArgumentsOfAToolAreTakenApart(t *testing.T) {
	for input, want := range map[string]string{
		`{ "command": "ls\n\tcd x", "description": "run it" }`:                        "[{command ls\n\tcd x}]",
		`{"file_path":"/a","old_string":"x","n":3,"all":true,"of":[1,"b"],"no":null}`: "[{file_path /a} {old_string x} {n 3} {all true} {of [1,\"b\"]} {no null}]",
		`{"command":"\u001b[2J\u202els","com\u001bmand":""}`:                          `[{command \u001b[2J\u202els} {com\u001bmand }]`,
		`{"command":"a","command":"b"}`:                                               "[]",
		`{"command":"a"} {"command":"b"}`:                                             "[]",
		`{"command":"a"} more`:                                                        "[]",
		`{"command":"a"`:                                                              "[]",
		`["a"]`:                                                                       "[]",
		`ls`:                                                                          "[]",
		``:                                                                            "[]",
	} {
		r := Request{Input: input, Description: "run it"}
		if got := fmt.Sprint(r.Fields()); got != want {
			t.Errorf("%s is %s, want %s", input, got, want)
		}
	}
	if f := (Request{Input: `{"command":"a"}`, Partial: true}).Fields(); f != nil {
		t.Errorf("of a part: %v", f)
	}
}

func FuzzFields(f *testing.F) {
	f.Add(`{ "command": "ls", "description": "run it" }`)
	f.Fuzz(func(t *testing.T, input string) {
		for _, one := range (Request{Input: input}).Fields() {
			if short := (Request{Input: one.Value}).shown(); len(one.Value) <= maxText && short.Input != one.Value {
				t.Errorf("%q is not visible", one.Value)
			}
		}
	})
}
