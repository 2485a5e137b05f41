package owed

import (
	"os"
	"strings"
	"testing"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// A row has both texts or none, in each form. They name every message, and sentence fills in all
// that stands in braces.
func TestEveryReasonHasItsTexts(t *testing.T) {
	seen, hasTexts := map[string]bool{}, map[string]bool{}
	for _, k := range kinds {
		if seen[k.reason] || (k.status == "") != (k.text.one == "") {
			t.Errorf("row %q: reason twice, or no status", k.reason)
		}
		seen[k.reason], hasTexts[k.reason] = true, k.text.one != ""
		for _, form := range []texts{k.text, k.remote, k.why} {
			if (form.one == "") != (form.several == "") {
				t.Errorf("%s: one text of two: %q", k.reason, form)
			}
		}
		if k.text.one == "" {
			continue
		}
		for _, to := range []string{"birch", "birch@oak"} {
			for _, why := range []string{"", "the {to} disk is full"} {
				first := News{Message: mail.Message{ID: "first", From: "amber", To: to, Content: "first {id}"}, Session: sessions.Session{Alias: to}, Reason: k.reason, Why: why}
				second := first
				second.Message.ID, second.Message.Content = "second", "second {why}"
				one, both := sentence([]News{first}), sentence([]News{first, second})
				if !strings.Contains(one, "first {id}") || !strings.Contains(both, "first {id}") || !strings.Contains(both, "second {why}") {
					t.Errorf("%s: the words of a message are not as they were:\n%s\n%s", k.reason, one, both)
				}
				for _, text := range []string{one, both} {
					own := strings.NewReplacer("first {id}", "", "second {why}", "", why, "").Replace(text)
					if strings.ContainsAny(own, "{}") || !strings.HasSuffix(text, ".") {
						t.Errorf("%s: %s", k.reason, text)
					}
				}
			}
		}
	}
	source, err := os.ReadFile("kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	toSenders, _, _ := strings.Cut(string(source), "\n)\n\n// These are reasons for the notices that ring.")
	_, toSenders, _ = strings.Cut(toSenders, "\nconst (\n")
	if lines := strings.Split(toSenders, "\n"); len(lines) < 2 {
		t.Errorf("kinds.go has the reasons %q", lines)
	} else {
		for _, line := range lines {
			if _, value, _ := strings.Cut(line, `"`); !hasTexts[value[:max(0, strings.IndexByte(value, '"'))]] {
				t.Errorf("no texts for %s", line)
			}
		}
	}
}
