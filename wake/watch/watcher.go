// Package watch notices that a mailbox changed and rings its session.
//
// On Linux it watches the mailbox's lock file. Every writer closes that file, so the event
// IN_CLOSE_WRITE comes after each write, by c2c or by any other program. The file is never
// replaced, and a watch costs the senders nothing. A Watcher also checks once a minute if no event
// comes. So a lost event delays a message, but the message is not lost. If the system has no watch
// left, a Watcher checks once a second. So it does on other systems, where fsnotify watches the
// directories.
//
// A Watcher serves one session. wake.Policy decides when to ring, and a wake.Method rings. The
// package writes nothing to disk: a Watcher keeps in memory for which oldest message it has rung.
package watch

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
)

// Watcher rings one session. Only one process at a time may run a Watcher for a session.
type Watcher struct {
	Box     *inbox.Mailbox
	Lock    string                     // the mailbox's lock file, which exists
	Methods []wake.Method              // the best first
	Busy    func(context.Context) bool // reports whether the session works; nil: never
	Quiet   func() bool                // reports whether the session wants no ring now; nil: never
	// Borrow takes the right to ring, and release gives it back after one ring. The result ok is
	// false while another process has this right. Borrow is nil if this process has the right
	// already.
	Borrow func() (release func() error, ok bool, err error)
	Record func(context.Context, wake.Ring) // if set, stores a ring, or why there was none
	// Report, if set, is called with the outcome of messages: at each ring for all messages that
	// may wake a session, and once for each message that was coalesced or filtered. The argument of
	// type wake.Ring has the ring's RingID and Method, and for a coalesced message those of the
	// last ring.
	Report func(context.Context, []mail.Message, wake.Ring)
	// Turn, if set, is called with true before a ring, and with false if the client did not take
	// the ring.
	Turn func(_ context.Context, runs bool) error
	Now  func() time.Time
	Gap  time.Duration // the time from the first ring for a message to the second, then it doubles; 0: 15 s

	policy      wake.Policy
	last        wake.Ring // the last recorded ring
	unreachable bool      // at the last ring no method reached the client
	reported    reported
}

// Continue makes w remember the rings of an earlier Watcher, which has served the same session and
// has ended.
func (w *Watcher) Continue(before *Watcher) {
	w.policy, w.last, w.reported = before.policy, before.last, before.reported
}

// Run rings until ctx ends, and then returns nil. If this process has the right to ring and no
// method reaches the client, Run returns ErrUnreachable, so that another process may try its own
// methods.
func (w *Watcher) Run(ctx context.Context, changes *Changes) error {
	sub := changes.subscribe(w.Lock)
	defer sub.Close()
	for {
		before, err := w.subscribed(sub)
		if err != nil {
			return err
		}
		again, err := w.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if w.unreachable && w.Borrow == nil {
			return wake.ErrUnreachable
		}
		if again == never || again > sub.every {
			again = sub.every
		}
		if err := w.await(ctx, sub, before, again); err != nil {
			return err
		}
	}
}

// subscribed makes sub also watch the lease directory. It also returns the mailbox's stamp: sub
// reports every change after that stamp.
func (w *Watcher) subscribed(sub *subscription) (inbox.Stamp, error) {
	// The end of a killed reader closes its lease file, but not the lock file. Ignore the result,
	// because the directory may not exist yet.
	sub.add(filepath.Join(filepath.Dir(w.Lock), w.Box.LeaseName()))
	return w.Box.Stamp()
}

// await returns when the mailbox has no longer the given stamp, when the time limit is over, or
// when ctx has ended. A closed lock file does not always mean a change: the method look closes it
// too.
func (w *Watcher) await(ctx context.Context, sub *subscription, stamp inbox.Stamp, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := sub.until(ctx, func() (bool, error) {
		now, err := w.Box.Stamp()
		return now != stamp, err
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// never, as look's result, means: do not call look again until something changes.
const never = time.Duration(0)

// look rings if it is time to do so, and returns when to call look again.
func (w *Watcher) look(ctx context.Context) (again time.Duration, err error) {
	// Check first without a lock: usually nothing waits.
	if some, err := w.Box.Waiting(); err != nil || !some {
		return never, err
	}
	msgs, err := w.Box.Head(ctx, wake.MaxLook)
	if err != nil || len(msgs) == 0 {
		return never, err
	}
	now, busy := w.Now(), w.Busy != nil && w.Busy(ctx)
	w.policy.Joins = slices.ContainsFunc(w.Methods, func(m wake.Method) bool { return m.Joins })
	d := w.policy.Decide(now, msgs, busy, w.Quiet != nil && w.Quiet())
	if !d.Ring {
		w.reportUnrung(ctx, msgs, d.Outcome)
		if d.Outcome != "" {
			w.record(ctx, wake.Ring{At: now, Outcome: d.Outcome, Count: len(msgs)}.For(msgs[0]))
		}
		return d.Again, nil
	}
	r, cause, err := w.ringIfAllowed(ctx, msgs, busy)
	if err != nil || cause != nil && ctx.Err() != nil { // this process is stopping, so the error does not come from the client
		return never, err
	}
	if r.Outcome == "" || errors.Is(cause, wake.ErrHeld) {
		again = wake.BusyLook
	} else {
		gap := w.Gap
		if errors.Is(cause, wake.ErrRefused) || errors.Is(cause, wake.ErrConsent) {
			gap = wake.RefusedGap
		}
		w.policy.Done(w.Now(), gap)
		again = w.policy.Gap
	}
	w.unreachable = r.Outcome == wake.Failed && errors.Is(cause, wake.ErrUnreachable)
	if r.Outcome != "" {
		w.record(ctx, r)
		w.reportRing(ctx, msgs, r)
	}
	return again, nil
}

// ringIfAllowed rings if this process has the right to ring, or can borrow it. Without this right,
// or if nothing is left to ring for, r has no outcome. The result cause says why the client did not
// take the ring.
func (w *Watcher) ringIfAllowed(ctx context.Context, msgs []mail.Message, busy bool) (r wake.Ring, cause, err error) {
	if w.Borrow != nil {
		release, ok, berr := w.Borrow()
		if berr != nil || !ok {
			return r, nil, berr
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	if w.Turn != nil {
		if err := w.Turn(ctx, true); err != nil {
			return r, nil, err
		}
	}
	if r, cause = w.ring(ctx, msgs, busy); cause == nil {
		return r, nil, nil
	}
	r.Cause = cause.Error()
	if w.Turn != nil {
		err = w.Turn(ctx, false)
	}
	return r, cause, err
}

// record calls Record for each ring. If there was no ring, it calls Record only once for the same
// mail and outcome, not each second.
func (w *Watcher) record(ctx context.Context, r wake.Ring) {
	if r.Outcome != wake.Rang && r.Outcome == w.last.Outcome && r.Method == w.last.Method && r.SameMail(w.last) {
		return
	}
	w.last = r
	if w.Record != nil {
		w.Record(ctx, r)
	}
}

// ring tries the methods until one reaches the client. Only the first ring for a message may carry
// messages, unless the method is idempotent. Otherwise a client that has kept the messages of the
// first ring, to take them later, would get them twice. A doorbell carries no messages.
func (w *Watcher) ring(ctx context.Context, msgs []mail.Message, busy bool) (r wake.Ring, cause error) {
	if w.policy.Tries > 0 && len(w.Methods) > 1 && w.Methods[0].Unproven {
		w.Methods = w.Methods[1:]
	}
	r = wake.Ring{At: w.Now(), Outcome: wake.Failed, Count: len(msgs)}.For(wake.MayWake(msgs)[0])
	if w.Report != nil {
		r.RingID = mail.NewID(r.At)
	}
	cause = wake.ErrUnreachable
	for _, m := range w.Methods {
		var err error
		carries := m.Carrier != nil && (w.policy.Tries == 0 || m.Idempotent)
		switch {
		case carries:
			err = Carry(ctx, w.Box, m)
		case m.Doorbell != nil:
			n := wake.NoticeOf(wake.MayWake(msgs))
			n.Joins, n.RingID = busy && m.Joins, r.RingID
			n.Waits = func() bool { return w.waits(ctx, r) }
			if err = m.Doorbell.Ring(ctx, n); errors.Is(err, wake.ErrRead) {
				return wake.Ring{}, err
			}
		default:
			continue
		}
		r.Method, cause, r.Outcome = m.Name, err, wake.OutcomeOf(err)
		if r.Outcome != wake.Failed {
			r.Began = carries && !busy && r.Outcome == wake.Rang
			return r, err // the client runs, so another method would only ring it a second time
		}
	}
	return r, cause
}

// waits reports whether the oldest message of a ring still waits. Meanwhile a hook may have handed
// it over. If the mailbox stays locked, waits takes the message for one that waits.
func (w *Watcher) waits(ctx context.Context, r wake.Ring) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	msgs, err := w.Box.Head(ctx, wake.MaxLook)
	return err != nil || slices.ContainsFunc(msgs, r.IsFor)
}

// Carry leases messages, makes the carrier of m hand them to the client, and acks those that the
// client has got. The lease ends with this process, so after a crash before the ack another reader
// gets the messages again.
func Carry(ctx context.Context, box *inbox.Mailbox, m wake.Method) error {
	if m.Ready != nil {
		if err := m.Ready(ctx); err != nil {
			return err
		}
	}
	l, err := box.Lease(ctx, m.Name, wake.MaxLook)
	if err != nil {
		return err
	}
	if len(l.Messages) == 0 {
		return l.Release() // another reader was faster
	}
	had, err := m.Carrier.Carry(ctx, l.Messages)
	if len(had) == 0 {
		return errors.Join(err, l.Release())
	}
	return l.Ack(ctx, had...) // the next ring offers the other messages, so ignore the carrier's error
}
