package mail

import (
	"encoding/json"
	"testing"
)

func TestWhatSteersATerminalIsVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 中 \t\n":      "plain é 中 \t\n",
		"\x1b[2J":             `\u001b[2J`,
		"\r\x7f":              `\u000d\u007f`,
		"a\u009b2Jb":          `a\u009b2Jb`,
		"a\x9b2J":             `a\u009b2J`,
		"user\u202eexe.txt":   `user\u202eexe.txt`,
		"\u2066x\u2069":       `\u2066x\u2069`,
		"a\u200e\u2028\ufeff": `a\u200e\u2028\ufeff`,
		"tag\U000e0041":       `tag\udb40\udc41`,
		"ی\u200cا":            "ی\u200cا",
	} {
		if got := Visible(text, "\n\t"); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := Visible("two\nlines", ""); got != `two\u000alines` {
		t.Errorf("a line became %q", got)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;title\a\u009b\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		if err := json.Unmarshal(quoted, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(Visible(string(quoted), "\n\t")), &got); err != nil || got != want {
			t.Errorf("JSON %s became %q, %v", quoted, got, err)
		}
	})
}
