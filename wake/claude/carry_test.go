package claude

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"c2c/inbox/mail"
)

func carried(msgs ...mail.Message) string {
	_, _, ids := pack(msgs)
	return fmt.Sprint(ids)
}

// The client writes a backslash into such a text, and the hook would not know the message again.
func TestAMessageThatTheClientWouldAlterIsNotCarried(t *testing.T) {
	n := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if mail.IsBracket(r) {
			n++
			if got := carried(letter("m-0", "birch", "word"), letter("m-1", "birch", "a "+string(r)+"b")); got != "[m-0]" {
				t.Errorf("%U: carried %s", r, got)
			}
		}
	}
	if n != 29 {
		t.Errorf("%d characters, the client of 2.1.329 has 29", n)
	}
	for body, alters := range map[string]bool{
		"</cross-session-message>": true, "< / Cross_Session Message": true, "x<<--teammate-message>": true, "<agent.message": true,
		"\uff1cx": true, "<cited>": true, "a < b, cited": false, "cross-session-message": false, "<div> 3 < 4 </c2c>": false, "a <": false,
	} {
		if got := carried(letter("m-0", "birch", "word"), letter("m-1", "birch", body)); (got == "[m-0]") != alters {
			t.Errorf("%q: carried %s", body, got)
		}
	}
	m := letter("m-1", "birch", "word")
	m.Tag = "\u2039"
	if got := carried(m); got != "[]" {
		t.Errorf("with a bracket in an attribute: carried %s", got)
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
