package inbox_test

import (
	"context"
	"testing"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

func TestAckAndRemoveArchivesOnlyWhatWasRead(t *testing.T) {
	root, err := atomicfile.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	box, err := inbox.Open(root, "s1", inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, id := range []string{"read", "removed", "stays"} {
		if _, err := box.Deliver(ctx, mail.Message{From: "ash", To: "birch", Content: id, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	lease, err := box.Lease(ctx, "relay", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.AckAndRemove(ctx, []string{"read"}, []string{"removed"}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"read": inbox.Archived, "removed": "", "stays": inbox.Waiting} {
		found, err := box.Find(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(found) == 1 {
			got = found[0].Where
		}
		if got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
}
