package relay

import (
	"testing"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/relay/cache"
)

// A suspended process on devbox holds the lock of birch's mailbox. Mail for other sessions and
// projects still comes, and so do receipts, mail the other way, and news of sessions.
func TestALockedMailboxHoldsUpOnlyItsOwnMail(t *testing.T) {
	all := machinesAround(t, "devbox", "laptop", "tablet")
	devbox, laptop, tablet := all[0], all[1], all[2]
	here, other, tab := laptop.project("site", "amber"), laptop.project("other", "ruby"), tablet.project("site", "fir")
	there, elsewhere := devbox.project("site", "birch", "cedar"), devbox.project("other", "elm")
	for _, m := range all {
		m.run()
	}
	laptop.send(here, "amber", "birch@devbox", "followed until it is read", mail.Message{})
	devbox.arrives(there, "birch", 1)
	lk, err := atomicfile.Acquire(t.Context(), there.Dir(), "s-birch.inbox.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lk.Release()
	laptop.send(here, "amber", "birch@devbox", "to the locked one", mail.Message{})
	for range 3 {
		laptop.send(here, "amber", "cedar@devbox", "same project", mail.Message{})
	}
	devbox.arrives(there, "cedar", 3)
	laptop.send(other, "ruby", "elm@devbox", "another project", mail.Message{})
	devbox.arrives(elsewhere, "elm", 1)
	tablet.send(tab, "fir", "cedar@devbox", "another machine", mail.Message{})
	devbox.arrives(there, "cedar", 4)
	back := devbox.send(there, "cedar", "amber@laptop", "the other way", mail.Message{})
	laptop.arrives(here, "amber", 1)
	devbox.until(there, "the receipt has come", func() bool { return !mailWaits(there.Root(), "host-laptop") })
	laptop.reads(here, "amber")
	devbox.until(there, "it is known that amber has the message", func() bool {
		reports, err := cache.ReadHeardReports(there.Dir(), "laptop")
		return err == nil && len(reports.Of(back.ID)) > 0
	})
	laptop.session(here, "gorse")
	devbox.until(there, "a new session is listed", func() bool { return devbox.knows(there, "laptop", "amber", "gorse") })
	lk.Release()
	devbox.arrives(there, "birch", 2)
	devbox.arrives(there, "cedar", 4)
}

// A suspended process on devbox holds the lock of the outbox for laptop when the relay starts.
func TestALockedOutboxHoldsUpNoOtherMachine(t *testing.T) {
	all := machinesAround(t, "devbox", "laptop", "tablet")
	devbox, laptop, tablet := all[0], all[1], all[2]
	here, tab := laptop.project("site", "amber"), tablet.project("site", "fir")
	there := devbox.project("site", "birch", "cedar")
	devbox.send(there, "birch", "amber@laptop", "waits", mail.Message{})
	lk, err := atomicfile.Acquire(t.Context(), there.Dir(), "host-laptop.inbox.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lk.Release()
	for _, m := range all {
		m.run()
	}
	tablet.send(tab, "fir", "cedar@devbox", "another machine", mail.Message{})
	devbox.arrives(there, "cedar", 1)
	laptop.send(here, "amber", "cedar@devbox", "from the machine for which mail waits", mail.Message{})
	devbox.arrives(there, "cedar", 2)
	lk.Release()
	laptop.arrives(here, "amber", 1)
}
