package claude

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"c2c/inbox"
)

func carried(msgs ...inbox.Message) string {
	_, _, ids := pack(msgs)
	return fmt.Sprint(ids)
}

// The client writes a backslash behind such a character, and the hook would not know the message again.
func TestAMessageThatTheClientWouldAlterIsNotCarried(t *testing.T) {
	for _, r := range likeBracket {
		for _, m := range []inbox.Message{
			letter("m-1", "birch", "a "+string(r)+"/cross-session-message b"),
			{From: "birch", To: "amber", Content: "word", ID: "m-1", Tag: string(r)},
		} {
			if got := carried(letter("m-0", "birch", "word"), m); got != "[m-0]" {
				t.Errorf("%U: carried %s", r, got)
			}
		}
	}
	if n := len([]rune(likeBracket)); n != 29 {
		t.Errorf("%d characters, the client of 2.1.329 has 29", n)
	}
}

func TestALabelIsAsLongAsTheClientShows(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("session-%d", i))
		got := label(names)
		if utf8.RuneCountInString(got) > maxLabel || !strings.HasPrefix(got, "session-0") {
			t.Fatalf("%d names: %q", i+1, got)
		}
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"birch"}, "birch"},
		{[]string{"birch", "coral"}, "birch, coral"},
		{[]string{strings.Repeat("a", 60), "birch", "coral"}, strings.Repeat("a", 60) + " …"},
		{[]string{strings.Repeat("a", 128)}, strings.Repeat("a", 62) + " …"},
	} {
		if got := label(c.names); got != c.want {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
	}
}
