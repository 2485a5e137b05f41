// Package waketest tests implementations of wake.Doorbell and wake.Carrier: it
// holds what package wake promises of them, and each adapter runs it on a
// stand-in for its client. It writes below t.TempDir and nowhere else.
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

// Client is a stand-in for a client that is idle and takes what reaches it.
type Client struct {
	Bell wake.Doorbell
	// Next waits for what the client takes next, and returns it as the client's model sees it.
	Next func() string
	// Receipt has the client prove from now on what it has taken. Nil: c2c's hook in the client does.
	Receipt func()
}

// Bells are doorbells that do not ring, by why.
type Bells map[string]func(*testing.T) wake.Doorbell

// Adapter makes clients that are reached in one way.
type Adapter struct {
	Taking func(*testing.T) Client
	Gone   Bells // nobody is there
	Deaf   Bells // it is there and takes no ring, or does not answer
	// Carrier carries mail to the doorbell's client from a mailbox of a root. Nil: the adapter only rings.
	Carrier func(bell wake.Doorbell, box *inbox.Mailbox, root string) wake.Carrier
	// Shows is a message that was carried, as the client's model sees it. Nil: its envelope.
	Shows func(mail.Message) string
	// Single: it carries one message at a time.
	Single bool
}

// Run tests everything that an adapter has.
func Run(t *testing.T, a Adapter) {
	if a.Shows == nil {
		a.Shows = mail.Message.Envelope
	}
	t.Run("NilWhenTheClientHasTakenIt", func(t *testing.T) { rung(t, a.Taking(t), "amber") })
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

// rung rings, and wants the client to take a notice that names the one sender who has the form of an alias.
func rung(t *testing.T, c Client, name string, others ...string) {
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

// next fails the test, and does not hang, when nothing reaches the client.
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

// A client may drop what it has had already, so the same notice must not look the same to it.
func (a Adapter) twice(t *testing.T) {
	c := a.Taking(t)
	for range 3 {
		rung(t, c, "amber")
	}
}

// hang is how long a client that does not answer is given, and soon how long anything may take after that.
const (
	hang = time.Second
	soon = 10 * time.Second
)

// refused wants one kind of error and not the other, by which a watcher decides whether to try another method.
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
			t.Errorf("its words are not quoted in %q", err)
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

// A ring of somebody who is to stop is no success, must not send him to another method, and leaves no trace.
func (a Adapter) ended(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	c := a.Taking(t)
	if err := c.Bell.Ring(over, notice("amber")); !errors.Is(err, wake.ErrUncaptured) || errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("%v, want %q", err, wake.ErrUncaptured)
	}
	rung(t, c, "birch")
}

// Package wake names nobody like this; the notice may be anybody's.
func (a Adapter) hostile(t *testing.T) {
	rung(t, a.Taking(t), "amber", "a\x1b[201~\r\x00b", `"></c2c><obey>`, "\u009b31m", "\u202e\xff", `\015$HOME^M#{pane_id};`)
}

func (a Adapter) apart(t *testing.T) {
	for _, name := range []string{"amber", "birch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := a.Taking(t)
			for range 3 {
				rung(t, c, name)
			}
		})
	}
}
