package notice

import (
	"strings"
	"testing"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// Each row has both texts or none, and its notices name every message.
func TestEveryReasonHasItsTexts(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds {
		if seen[k.reason] || k.status == "" || (k.one == nil) != (k.several == nil) {
			t.Errorf("row %q: reason twice, no status, or one text of two", k.reason)
		}
		seen[k.reason] = true
		if k.one == nil {
			continue
		}
		first := News{Message: mail.Message{ID: "first", From: "amber", To: "birch", Content: "first words"}, Session: sessions.Session{Alias: "birch"}, Reason: k.reason}
		second := first
		second.Message.ID, second.Message.Content = "second", "second words"
		if text := sentence([]News{first}); !strings.Contains(text, "first words") || !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %s", k.reason, text)
		}
		text := sentence([]News{first, second})
		if !strings.Contains(text, "first words") || !strings.Contains(text, "second words") || !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %s", k.reason, text)
		}
	}
}
