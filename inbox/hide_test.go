package inbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// bodiesOf gives what a mailbox hands over, and gives it back.
func bodiesOf(t *testing.T, m *Mailbox) string {
	t.Helper()
	l, err := m.Lease(context.Background(), "test", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for _, msg := range l.Messages {
		bodies = append(bodies, msg.Content)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	peeked, err := m.Peek(context.Background())
	if err != nil || len(peeked) != len(bodies) {
		t.Errorf("peek gives %v, %v; a lease %q", peeked, err, bodies)
	}
	return strings.Join(bodies, " ")
}

// What may not be handed over now stays where it is, in each kind of file, whatever is acknowledged
// around it.
func TestWhatIsHiddenStays(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		t.Run(fmt.Sprint("in a numbered file: ", older), func(t *testing.T) {
			t.Parallel()
			now, held := time.Unix(1_800_000_000, 0), true
			m, _ := newBox(t)
			m.now, m.held = func() time.Time { return now }, func(mail.Message) bool { return held }
			at := mail.Seconds(now)
			for _, msg := range []mail.Message{
				{Content: "gone", ExpiresAt: at}, {Content: "brief", ExpiresAt: at + 10}, {Content: "plain"},
				{Content: "slow", NotBefore: at + 20}, {Content: "held", Held: "pair", NotBefore: at + mail.LongestHold.Seconds()},
			} {
				msg.From, msg.To = "amber", "birch"
				deliver(t, m, msg)
			}
			if older {
				bodiesOf(t, m)
			}
			if got := bodiesOf(t, m); got != "brief plain" {
				t.Errorf("first: %q", got)
			}
			now = now.Add(10 * time.Second)
			l, err := m.Lease(t.Context(), "test", 1<<30)
			if err != nil || len(l.Messages) != 1 {
				t.Fatal(l, err)
			}
			if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
				t.Fatal(err)
			}
			if got := bodiesOf(t, m); got != "" {
				t.Errorf("behind the ack: %q", got)
			}
			if ready, err := m.Ready(t.Context()); err != nil || ready {
				t.Errorf("ready: %v, %v", ready, err)
			}
			now = now.Add(10 * time.Second)
			if got := bodiesOf(t, m); got != "slow" {
				t.Errorf("later: %q", got)
			}
			held = false
			if got := bodiesOf(t, m); got != "slow held" {
				t.Errorf("at last: %q", got)
			}
			all, err := m.PeekAll(t.Context())
			if err != nil || len(all) != 4 {
				t.Fatalf("all: %v, %v", all, err)
			}
			if err := m.Withdraw(t.Context(), all[0], all[1]); err != nil {
				t.Fatal(err)
			}
			if all, err = m.PeekAll(t.Context()); err != nil || len(all) != 2 {
				t.Errorf("left: %v, %v", all, err)
			}
			if got := bodiesOf(t, m); got != "slow held" {
				t.Errorf("left to hand over: %q", got)
			}
		})
	}
}

// A hidden message in front hides nothing that stands in a later file, however little a reader
// takes.
func TestWhatIsHiddenHidesNothingBehindIt(t *testing.T) {
	t.Parallel()
	m, _ := newBox(t)
	for _, msg := range []mail.Message{{Content: strings.Repeat("x", maxInbox), ExpiresAt: 1}, {Content: "plain"}} {
		msg.From, msg.To = "amber", "birch"
		deliver(t, m, msg)
	}
	l, err := m.Lease(t.Context(), "test", 1)
	if err != nil || len(l.Messages) != 1 || l.Messages[0].Content != "plain" {
		t.Fatalf("leased %v, %v", l, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if msgs, err := m.Head(t.Context(), 1); err != nil || len(msgs) != 1 {
		t.Errorf("head %v, %v", msgs, err)
	}
}

func TestAReadersMessageIsNotWithdrawn(t *testing.T) {
	t.Parallel()
	m, _ := newBox(t)
	stored := deliver(t, m, letter("x"))
	l, err := m.Lease(t.Context(), "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Withdraw(t.Context(), stored...); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if got := bodiesOf(t, m); got != "x" {
		t.Errorf("waits: %q", got)
	}
}

// What is held may wait for days beside what is read. No look at it reads all that was archived
// meanwhile, and what a killed reader has archived is not handed over again.
func TestWhatIsHiddenCostsNoMoreTheLongerItWaits(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("its reader was killed: ", killed), func(t *testing.T) {
			t.Parallel()
			m, _ := newBox(t)
			held := true
			m.held = func(mail.Message) bool { return held }
			hidden := letter("held")
			hidden.Held, hidden.NotBefore = "pair", mail.Seconds(time.Now().Add(mail.LongestHold))
			stored := deliver(t, m, letter("first"), hidden)
			l, err := m.Lease(t.Context(), "test", 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if killed {
				err = errors.Join(m.archive.Append(t.Context(), "test", stored[:1], 0), l.close())
			} else {
				err = l.Ack(t.Context(), Handles(l.Messages)...)
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 4 {
				deliver(t, m, letter(strings.Repeat("x", reread)))
				l, err := m.Lease(t.Context(), "test", 1<<30)
				if err != nil || len(l.Messages) != 1 {
					t.Fatalf("leased %d messages, %v", len(l.Messages), err)
				}
				if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
					t.Fatal(err)
				}
			}
			size, err := m.archive.End()
			if err != nil {
				t.Fatal(err)
			}
			if err := m.inLease(func(dir *atomicfile.Dir) error {
				files, err := mailFiles(dir)
				if !killed && (len(files) != 1 || size-files[0].archived > 3*reread) {
					t.Errorf("%d bytes are archived, and looked through behind %s", size, files[0].name())
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			held = false
			if got := bodiesOf(t, m); got != "held" {
				t.Errorf("at last: %q", got)
			}
		})
	}
}

// Written by hand, without an id.
func TestAMessageWithoutAnIDIsWithdrawn(t *testing.T) {
	t.Parallel()
	m, root := newBox(t)
	plant := `[{"from_alias":"amber","to_alias":"birch","content":"x","expires_at":1},{"from_alias":"amber","to_alias":"birch","content":"y"}]`
	if err := m.root.Write(m.inboxName(), []byte(plant)); err != nil {
		t.Fatal(root, err)
	}
	all, err := m.PeekAll(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if err := m.Withdraw(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	if got := bodiesOf(t, m); got != "y" {
		t.Errorf("left: %q", got)
	}
	if left, err := m.PeekAll(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Ready looks at the first message alone when that may be handed over, and at the others when it
// may not.
func TestReadyLooksBehindWhatIsHidden(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", maxInbox/2)
	for _, c := range []struct {
		name  string
		first mail.Message
		next  mail.Message
		ready bool
	}{
		{"the first is ready", mail.Message{Content: big}, mail.Message{Content: big, ExpiresAt: 1}, true},
		{"the next is ready", mail.Message{Content: big, ExpiresAt: 1}, mail.Message{Content: big}, true},
		{"none is ready", mail.Message{Content: big, ExpiresAt: 1}, mail.Message{Content: big, ExpiresAt: 1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newBox(t)
			for _, msg := range []mail.Message{c.first, c.next, c.next} {
				msg.From, msg.To = "amber", "birch"
				deliver(t, m, msg)
			}
			if len(numbered(t, m.root.Path())) == 0 {
				t.Fatal("no numbered file")
			}
			if ready, err := m.Ready(t.Context()); err != nil || ready != c.ready {
				t.Errorf("ready: %v, %v", ready, err)
			}
		})
	}
}
