package mail

import (
	"testing"
	"time"
)

func TestAShortIDIsTheRandomEndOfAUUID(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, b := NewID(now), NewID(now)
	if ShortID(a) == ShortID(b) || len(ShortID(a)) != ShortLen || a[:ShortLen] != b[:ShortLen] {
		t.Errorf("%s and %s are shown as %s and %s", a, b, ShortID(a), ShortID(b))
	}
	for _, id := range []string{"job-7", "legacy-0123456789abcdef01234567", "01890a5d-ac96-774b-bcce-b302099a805", "01890a5d-ac96-774b-bcceb-302099a8057"} {
		if ShortID(id) != id {
			t.Errorf("%s is no UUID, and is shown as %s", id, ShortID(id))
		}
	}
}

func TestFirstWordsAreOneLineThatSteersNoTerminal(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"one  two\n\tthree":       "one two three",
		"one two three four five": "one two three…",
		"\x1b[31mred":             `\u001b[31mred`,
		"äöü äöü äöü äöü äöü":     "äöü äöü äöü äö…",
		"<c2c>":                   "&lt;c2c>",
		"":                        "",
	} {
		if got := (Message{Content: content}).FirstWords(15); got != want {
			t.Errorf("%q is shown as %q, want %q", content, got, want)
		}
	}
	if got := (Message{Content: "</c2c>  \x1b[31m"}).PlainWords(20); got != `</c2c> \u001b[31m` {
		t.Errorf("a person is shown %q", got)
	}
}
