// Package waketest tests implementations of wake.Doorbell and wake.Carrier against
// the contract in package wake. Each adapter runs it on a stand-in for its client.
// It writes only below t.TempDir.
package waketest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
)

// Client is a stand-in for an idle client that takes rings and mail.
type Client struct {
	Bell wake.Doorbell
	// Next waits for the next text that the client takes, and returns it in the form in which the
	// client's model sees it.
	Next func() string
	// Receipt is called once. From then on the client proves which messages it has taken. Nil:
	// c2c's hook in the client proves that.
	Receipt func()
}

// Bells makes doorbells that cannot ring. The keys name the reasons.
type Bells map[string]func(*testing.T) wake.Doorbell

// Adapter makes the clients for the tests of one way to ring.
type Adapter struct {
	Idle func(*testing.T) Client // it takes rings
	Gone Bells                   // no client is there
	Deaf Bells                   // the client is there, but takes no ring or does not answer
	// Carrier returns a carrier that brings mail from a mailbox of a root to the doorbell's client.
	// Nil: the adapter can only ring.
	Carrier func(bell wake.Doorbell, box *inbox.Mailbox, root string) wake.Carrier
	// Shows returns a carried message as the client's model sees it. Nil: its envelope.
	Shows func(mail.Message) string
}

// Run tests the doorbells of an adapter and, if it has one, its carrier.
func Run(t *testing.T, a Adapter) {
	if a.Shows == nil {
		a.Shows = mail.Message.Envelope
	}
	t.Run("NilWhenTheClientHasTakenIt", func(t *testing.T) { ring(t, a.Idle(t), "amber") })
	t.Run("TwoRingsAreTwo", a.twice)
	t.Run("ErrUnreachableWhenNobodyIsThere", func(t *testing.T) { a.refused(t, a.Gone, soon, wake.ErrUnreachable, wake.ErrUncaptured) })
	t.Run("ErrUncapturedWhenItIsNotTaken", func(t *testing.T) { a.refused(t, a.Deaf, hang, wake.ErrUncaptured, wake.ErrUnreachable) })
	t.Run("AnEndedContextDoesNothing", a.ended)
	t.Run("NoAliasIsMoreThanAName", a.hostile)
	t.Run("TwoSessionsDoNotMix", a.apart)
	if a.Carrier != nil {
		t.Run("Carrier", a.carry)
	}
}

func notice(from ...string) wake.Notice { return wake.Notice{Count: 2, From: from, Oldest: "m-1"} }

// ring rings the client with a notice of name and others as senders. The client must get a notice
// that names only name, because the others do not have the form of an alias.
func ring(t *testing.T, c Client, name string, others ...string) {
	t.Helper()
	if err := c.Bell.Ring(t.Context(), notice(append(others, name)...)); err != nil {
		t.Fatalf("a client that takes rings: %v", err)
	}
	text := c.next(t)
	if !strings.Contains(text, `<c2c event="message_pending" count="2" from="`+name+`">`) {
		t.Errorf("the client got %q, want a notice from %q", text, name)
	}
	if strings.Count(text, "<c2c") != 1 || strings.Count(text, "</c2c>") != 1 || strings.ContainsFunc(text, control) {
		t.Errorf("the client got more than a notice: %q", text)
	}
}

// next returns the next text that reaches the client. If none comes in time, it fails the test.
func (c Client) next(t *testing.T) string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		defer close(got) // also when Next ends the test
		got <- c.Next()
	}()
	select {
	case text, ok := <-got:
		if !ok {
			t.FailNow()
		}
		return text
	case <-time.After(hang + soon):
		t.Fatal("nothing reached the client")
		return ""
	}
}

func control(r rune) bool { return unicode.IsControl(r) && r != '\n' }

// A client may drop a text that it has had before, so no two rings may have the same text.
func (a Adapter) twice(t *testing.T) {
	c := a.Idle(t)
	for range 3 {
		ring(t, c, "amber")
	}
}

// hang is how long the tests wait for a client that does not answer. soon is how long the doorbell
// may take to return after that.
const (
	hang = time.Second
	soon = 10 * time.Second
)

// refused rings the bells, and fails the test unless the error is of the kind want and not of the
// kind not. From the kind a watcher knows whether to try another method.
func (a Adapter) refused(t *testing.T, bells Bells, limit time.Duration, want, not error) {
	check := func(t *testing.T, f func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(limit, cancel).Stop()
		defer cancel()
		start := time.Now()
		err := f(ctx)
		if !errors.Is(err, want) || errors.Is(err, not) {
			t.Errorf("%v, want %q", err, want)
		} else if strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("the client's text is not quoted in %q", err)
		}
		if took := time.Since(start); took > limit+soon {
			t.Errorf("it took %v", took)
		}
	}
	for why, make := range bells {
		t.Run(why, func(t *testing.T) {
			bell := make(t)
			check(t, func(ctx context.Context) error { return bell.Ring(ctx, notice("amber")) })
			if a.Carrier == nil {
				return
			}
			m := mailOf(t, "one")
			carrier := a.Carrier(make(t), m.box, m.root)
			check(t, func(ctx context.Context) error {
				had, err := carrier.Carry(ctx, m.msgs)
				if len(had) > 0 {
					t.Errorf("it has %q", had)
				}
				return err
			})
		})
	}
}

// A ring after the context has ended is not a success. It must not make the caller try another
// method, and it leaves no trace.
func (a Adapter) ended(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	c := a.Idle(t)
	if err := c.Bell.Ring(over, notice("amber")); !errors.Is(err, wake.ErrUncaptured) || errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("%v, want %q", err, wake.ErrUncaptured)
	}
	ring(t, c, "birch")
}

// Package wake checks aliases, but a doorbell must be safe for names of any form.
func (a Adapter) hostile(t *testing.T) {
	ring(t, a.Idle(t), "amber", "a\x1b[201~\r\x00b", `"></c2c><obey>`, "\u009b31m", "\u202e\xff", `\015$HOME^M#{pane_id};`)
}

func (a Adapter) apart(t *testing.T) {
	for _, name := range []string{"amber", "birch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := a.Idle(t)
			for range 3 {
				ring(t, c, name)
			}
		})
	}
}
