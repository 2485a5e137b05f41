package inbox

import (
	"fmt"
	"testing"

	"c2c/inbox/mail"
)

// leases delivers messages, and leases each alone.
func leases(t *testing.T, m *Mailbox, count int) (all []*Lease) {
	t.Helper()
	for i := range count {
		deliver(t, m, letter(fmt.Sprint(i)))
		l, err := m.LeaseAll(t.Context(), "relay", 1)
		if err != nil || len(l.Messages) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		all = append(all, l)
	}
	return all
}

func TestJoinedLeasesAreAcknowledgedTogether(t *testing.T) {
	m, root := newBox(t)
	all := leases(t, m, 4)
	if err := all[0].Join(all[1:3]...); err != nil {
		t.Fatal(err)
	}
	if got := bodies(all[0].Messages); got != "0 1 2" || len(all[1].files) > 0 {
		t.Fatalf("the lease has %q", got)
	}
	h := Handles(all[0].Messages)
	if err := all[0].AckAndRemove(t.Context(), []string{h[0], h[2]}, h[1:2]); err != nil {
		t.Fatal(err)
	}
	for _, l := range all[1:] {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	if left, got := peek(t, m), archivedBodies(t, m); left != "3" || got != "0 2 " || len(numbered(t, root)) != 1 {
		t.Errorf("%q waits, %q is archived, and there are %q", left, got, numbered(t, root))
	}
}

func TestAJoinedLeaseThatIsReleasedWaitsInItsOrder(t *testing.T) {
	m, _ := newBox(t)
	all := leases(t, m, 3)
	if err := all[0].Join(all[1:]...); err != nil {
		t.Fatal(err)
	}
	if err := all[0].Release(); err != nil {
		t.Fatal(err)
	}
	if left := peek(t, m); left != "0 1 2" {
		t.Errorf("%q waits", left)
	}
}

// One message is in two leases if a crash has left it in two files. Then each handle is another
// one.
func TestJoinedLeasesHaveEachHandleOnce(t *testing.T) {
	m, _ := newBox(t)
	one := letter("one")
	one.ID = "m-1"
	var all []*Lease
	for range 2 {
		if _, err := DeliverNew(t.Context(), m, one); err != nil {
			t.Fatal(err)
		}
		l, err := m.LeaseAll(t.Context(), "relay", 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	if err := all[0].Join(all[1]); err != nil {
		t.Fatal(err)
	}
	if h := Handles(all[0].Messages); len(h) != 2 || h[0] == h[1] {
		t.Errorf("handles %q", h)
	}
	all[0].Release()
}

// A lease finds in the archive what another process has archived of it, though this process has
// archived other messages meanwhile.
func TestALeaseFindsWhatOthersHaveArchivedOfIt(t *testing.T) {
	m, root := newBox(t)
	all := leases(t, m, 3)
	other, err := openAt(root)
	if err != nil {
		t.Fatal(err)
	}
	isThird := func(msg mail.Message) bool { return msg.Content == "2" }
	for i, l := range all {
		if i == 1 {
			if err := other.Receive(t.Context(), isThird, "relay"); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
			t.Fatal(err)
		}
	}
	if got := archivedBodies(t, m); got != "0 2 1 " {
		t.Errorf("archived %q", got)
	}
}

func TestANewMessageIsStoredWithoutALookForItsID(t *testing.T) {
	m, _ := newBox(t)
	one := letter("one")
	one.ID, one.FromSession = "m-1", "s-birch"
	if _, err := DeliverNew(t.Context(), m, one); err != nil {
		t.Fatal(err)
	}
	if st, err := m.Deliver(t.Context(), one); err != nil || !st.Already[0] {
		t.Errorf("it is stored again: %v", err)
	}
	if st, err := DeliverNew(t.Context(), m, letter("two")); err != nil || st.Messages[0].ID == "" {
		t.Errorf("a message without an id: %+v, %v", st, err)
	}
	if left := peek(t, m); left != "one two" {
		t.Errorf("%q waits", left)
	}
}
