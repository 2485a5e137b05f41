package inbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
)

// Where a message is looked for first is a guess: wherever it stands, and whatever the times of the
// files are, it is found.
func TestAMessageIsFoundWhateverTheTimesOfTheFilesAre(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(i int) time.Time{
		"as written": nil,
		"backwards":  func(i int) time.Time { return time.Unix(1_900_000_000-int64(i)*1000, 0) },
		"long ago":   func(int) time.Time { return time.Unix(1, 0) },
		"ahead":      func(int) time.Time { return time.Unix(4_000_000_000, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := newBox(t)
			big := strings.Repeat("x", maxInbox-1000)
			var stored []mail.Message
			for range 6 {
				stored = append(stored, deliver(t, m, mail.Message{From: "amber", To: "birch", Content: big})...)
			}
			files := numbered(t, m.root.Path())
			if len(files) < 4 {
				t.Fatalf("numbered files: %v", files)
			}
			for i, file := range files {
				if at != nil {
					path := filepath.Join(m.root.Path(), m.LeaseName(), filepath.Base(file))
					if err := os.Chtimes(path, at(i), at(i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, msg := range stored {
				if found, err := m.Find(t.Context(), msg.ID); err != nil || len(found) != 1 || found[0].Where != Waiting {
					t.Errorf("message %s: %v, %v", msg.ID, found, err)
				}
			}
			l, err := m.Lease(t.Context(), "test", 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Ack(t.Context(), stored[1].Handle(), stored[4].Handle()); err != nil {
				t.Fatal(err)
			}
			for i, msg := range stored {
				want := Waiting
				if slices.Contains([]int{1, 4}, i) {
					want = Archived
				}
				if found, err := m.Find(t.Context(), msg.ID); err != nil || len(found) != 1 || found[0].Where != want {
					t.Errorf("message %d: %v, %v", i, found, err)
				}
			}
			if found, err := m.Find(t.Context(), mail.NewID(time.Now())); err != nil || len(found) > 0 {
				t.Errorf("found %v, %v", found, err)
			}
		})
	}
}
