package inbox_test

import (
	"context"
	"testing"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// The mailbox of what goes to another host has mail for several receivers.
func TestOneIDToTwoReceiversOfAHostIsTwoMessages(t *testing.T) {
	root, err := atomicfile.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	box, err := inbox.Open(root, "host-devbox", inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, to := range []string{"birch@devbox", "cedar@devbox", "Birch@devbox"} {
		if _, err := box.Deliver(ctx, mail.Message{From: "ash", FromSession: "s1", To: to, Content: "hello", ID: "chosen"}); err != nil {
			t.Fatal(err)
		}
	}
	lease, err := box.LeaseAll(ctx, "relay", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if len(lease.Messages) != 2 || lease.Messages[1].To != "cedar@devbox" {
		t.Errorf("two messages were sent: %+v", lease.Messages)
	}
	if err := lease.Ack(ctx, inbox.Handles(lease.Messages)...); err != nil {
		t.Fatal(err)
	}
	if found, err := box.FindAll(ctx, "chosen"); err != nil || len(found) != 2 {
		t.Errorf("the archive has %+v, %v", found, err)
	}
}
