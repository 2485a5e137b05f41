package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
)

// leaseSize is the size at which a lease is large enough: it takes whole files of the mailbox, one
// after another, until they have at least leaseSize bytes.
const leaseSize = 128 << 10

// outbox is the mail that waits for a peer. The first messages are leased and have numbers.
type outbox struct {
	l         *line
	box       *inbox.Mailbox
	head      head
	recounted time.Time // when this host last began an epoch because of a receipt
	checked   bool      // the method repair has run, or is not needed

	leases  []*leased         // in the order of their numbers
	frames  []frame           // the frames of these leases, without frames that the peer has stored in full
	sent    int               // how many of the frames were sent
	stored  uint64            // the highest number in the peer's receipts
	at      hash              // the hash up to the number in the field stored
	refused map[uint64]Reason // key: the number of a refused message, at least head.Next; value: the reason
}

// leased is a lease whose messages have numbers.
type leased struct {
	*inbox.Lease
	last  uint64 // the highest number of its messages
	after hash   // the hash up to that number
}

// frame has the messages of one packet, the number of the first one, and the hashes before and
// after the messages.
type frame struct {
	first         uint64
	before, after hash
	msgs          []mail.Message
}

func (f frame) last() uint64 { return f.first + uint64(len(f.msgs)) - 1 }

// open reads the head. If there is none, the method sender.step begins the first epoch later. That
// needs the lock of the outbox. open must not wait for this lock, because its caller holds the lock
// of the Relay.
func (o *outbox) open(l *line) (err error) {
	o.l = l
	if o.box, err = inbox.Open(l.Root, Outbox(l.peer), inbox.Config{Now: l.Now, Log: l.Log}); err != nil {
		return err
	}
	h, there, err := readState[head](l.dir, l.headName(), l.Log)
	if err != nil {
		return err
	}
	h.Run = max(h.Run+1, uint64(l.Now().UnixMilli()))
	if !there {
		h.Next = 1
	}
	o.head = h
	o.restart()
	if there {
		err = writeState(l.dir, l.headName(), h)
	}
	return err
}

// beginFirst begins the first epoch if there is no head.
func (o *outbox) beginFirst(ctx context.Context) error {
	if o.head.Epoch > 0 {
		return nil
	}
	return o.beginEpoch(ctx, uint64(o.l.Now().UnixMilli()), fine)
}

func (l *line) headName() string { return l.peer + ".head.json" }

// beginEpoch begins a new epoch. MaybeStored counts all messages that wait now, because any of them
// may have been sent in an earlier epoch.
func (o *outbox) beginEpoch(ctx context.Context, epoch uint64, why state) error {
	ctx, end := brief(ctx)
	defer end()
	waiting, err := o.box.PeekAll(ctx)
	if err != nil {
		return err
	}
	h := head{Epoch: epoch, Next: 1, Hash: startOf(epoch), MaybeStored: uint64(len(waiting)), Why: why, Run: o.head.Run}
	if err := o.l.fault("recount"); err != nil {
		return err
	}
	if err := writeState(o.l.dir, o.l.headName(), h); err != nil {
		return err
	}
	o.head = h
	o.restart()
	return nil
}

// recount begins a new epoch. Its number is higher than our last one, and than theirs: the epoch in
// the peer's receipt.
func (o *outbox) recount(ctx context.Context, why state, theirs uint64) error {
	o.restart()
	if !o.checked {
		if _, err := o.lease(ctx); err != nil {
			return err
		}
		o.restart()
	}
	epoch := max(uint64(o.l.Now().UnixMilli()), o.head.Epoch+1, theirs+1)
	if epoch > maxNumber {
		return fmt.Errorf("host %q has sent the epoch %d: too large", o.l.peer, theirs)
	}
	return o.beginEpoch(ctx, epoch, why)
}

// release releases the leases, so that their messages wait again in the same order.
func (o *outbox) release() {
	for _, l := range o.leases {
		if err := l.Release(); err != nil {
			o.l.Log.Warn("leased mail of an outbox was not released", "host", o.l.peer, "err", err)
		}
	}
	o.leases = nil
}

// restart forgets the leases, the frames and the receipts. So the outbox is as if just opened, but
// keeps the time of the last recount.
func (o *outbox) restart() {
	o.release()
	o.frames, o.sent, o.refused, o.checked = nil, 0, map[uint64]Reason{}, o.head.Last == identity{}
	o.stored, o.at = o.head.Next-1, o.head.Hash
}

// numbered returns the highest number of a leased message, and the hash up to that number.
func (o *outbox) numbered() (uint64, hash) {
	if n := len(o.leases); n > 0 {
		return o.leases[n-1].last, o.leases[n-1].after
	}
	return o.head.Next - 1, o.head.Hash
}

// lease leases more messages of the outbox and gives them numbers. It returns false if no more mail
// waits, or if enough is leased. It also leases messages that are not due yet, or have expired, so
// the numbers do not depend on the clock. The receiving host checks whether a message is due or has
// expired.
func (o *outbox) lease(ctx context.Context) (bool, error) {
	if len(o.leases) >= window {
		return false, nil
	}
	if some, err := o.box.Waiting(); err != nil || !some {
		return false, err
	}
	l, err := o.leaseAll(ctx)
	if err != nil {
		return false, err
	}
	if len(l.Messages) == 0 {
		return false, l.Release()
	}
	if !o.checked {
		return true, o.repair(ctx, l)
	}
	o.number(l, maxCount)
	return true, nil
}

func (o *outbox) leaseAll(ctx context.Context) (*inbox.Lease, error) {
	ctx, end := brief(ctx)
	defer end()
	return o.box.LeaseAll(ctx, inbox.ByRelay, leaseSize)
}

// ahead returns the first frame of mail that is not leased yet. Its messages are sent first, and
// leased later by the method take, because a lease costs a sync. A kill in between does no harm:
// the messages still wait, and get the same numbers again. The result ok is false if the mail must
// be leased first, or if there is no mail.
func (o *outbox) ahead(ctx context.Context) (f frame, ok bool, err error) {
	if len(o.leases) > 0 || !o.checked {
		return f, false, nil
	}
	ctx, end := brief(ctx)
	defer end()
	msgs, err := inbox.HeadAll(ctx, o.box, leaseSize)
	if err != nil || len(msgs) == 0 {
		return f, false, err
	}
	n, at := o.numbered()
	return o.framesOf(msgs, n, at, maxCount)[0], true, nil
}

// errTaken means that another program has taken mail out of the outbox.
var errTaken = errors.New("mail was taken out of the outbox while it was sent")

// take leases the messages of a frame that was sent ahead, and perhaps more messages.
func (o *outbox) take(ctx context.Context, f frame) error {
	l, err := o.leaseAll(ctx)
	if err != nil {
		return err
	}
	same := len(l.Messages) >= len(f.msgs)
	for i := 0; same && i < len(f.msgs); i++ {
		same = identityOf(l.Messages[i]) == identityOf(f.msgs[i])
	}
	if !same {
		return errors.Join(errTaken, l.Release())
	}
	o.number(l, len(f.msgs))
	return nil
}

// repair completes an ack that a kill has prevented: it acknowledges the messages up to head.Last,
// if they are still there. It searches at most window leases, because one receipt cannot complete
// more. If head.Last is in none of these leases, all their messages get numbers.
func (o *outbox) repair(ctx context.Context, l *inbox.Lease) (err error) {
	o.checked = true
	all := []*inbox.Lease{l}
	for ; len(l.Messages) > 0; all = append(all, l) {
		last := slices.IndexFunc(l.Messages, func(m mail.Message) bool { return identityOf(m) == o.head.Last })
		if last >= 0 {
			left := last + 1
			for _, before := range all[:len(all)-1] {
				left += len(before.Messages)
			}
			if err := all[0].Join(all[1:]...); err != nil {
				return err
			}
			return o.ack(ctx, all[0], all[0].Messages[:left], o.head.Next-1, o.head.Refused)
		}
		if len(all) == window {
			break
		}
		if l, err = o.leaseAll(ctx); err != nil {
			break
		}
	}
	for _, l := range all {
		if len(l.Messages) > 0 {
			o.number(l, maxCount)
		} else {
			err = errors.Join(err, l.Release())
		}
	}
	return err
}

// number gives the messages of a lease their numbers, and makes frames of them. The first frame has
// at most limit messages.
func (o *outbox) number(l *inbox.Lease, limit int) {
	n, at := o.numbered()
	o.frames = append(o.frames, o.framesOf(l.Messages, n, at, limit)...)
	last := o.frames[len(o.frames)-1]
	o.leases = append(o.leases, &leased{l, last.last(), last.after})
}

// framesOf makes frames of msgs, which get the numbers n+1, n+2 and so on. The argument at is the
// hash up to n. The first frame has limit messages at most.
func (o *outbox) framesOf(msgs []mail.Message, n uint64, at hash, limit int) (frames []frame) {
	f, size := frame{first: n + 1, before: at}, 0
	for i, m := range msgs {
		w := wireOf(m, o.l.Now())
		if len(f.msgs) == limit || size > 0 && size+w.size() > maxFrame {
			f.after = at
			frames = append(frames, f)
			f, size, limit = frame{first: n + 1, before: at}, 0, maxCount
		}
		n, at = n+1, at.next(w.id)
		f.msgs = append(f.msgs, msgs[i])
		size += w.size()
	}
	f.after = at
	return append(frames, f)
}

// hashAt returns the hash up to the argument number, which must be at least o.stored. The peer may
// have stored messages that this host sent before a kill, and that are not leased yet. So hashAt
// first leases more of the outbox. ok is false if no message has this number.
func (o *outbox) hashAt(ctx context.Context, number uint64) (at hash, ok bool, err error) {
	for more := true; more && err == nil; {
		if n, _ := o.numbered(); n >= number {
			break
		}
		more, err = o.lease(ctx)
	}
	if number == o.stored {
		return o.at, true, err
	}
	for _, f := range o.frames {
		if number > f.last() {
			continue
		}
		at = f.before
		for _, m := range f.msgs[:number+1-f.first] {
			at = at.next(wireOf(m, o.l.Now()).id)
		}
		return at, true, err
	}
	return at, false, err
}

// progress records that the peer has stored or refused the messages up to rc.number. It finishes
// the leases that are complete.
func (o *outbox) progress(ctx context.Context, rc receipt) error {
	o.stored, o.at = rc.number, rc.hash
	for _, r := range rc.refused {
		if r.Number >= o.head.Next && r.Number <= rc.number {
			o.refused[r.Number] = r.Why
		}
	}
	done := slices.IndexFunc(o.frames, func(f frame) bool { return f.last() > o.stored })
	if done < 0 {
		done = len(o.frames)
	}
	o.frames, o.sent = o.frames[done:], max(o.sent-done, 0)
	complete := 0
	for complete < len(o.leases) && o.leases[complete].last <= o.stored {
		complete++
	}
	switch {
	case complete > 0:
		return o.finishLeases(ctx, complete)
	case len(o.refused) >= maxRefused/2 && o.stored >= o.head.Next:
		// A peer that keeps maxRefused refusals stores no more mail. Our next frame tells the peer
		// that it can drop these refusals.
		l := o.leases[0].Lease
		if err := o.finish(ctx, l, l.Messages[:o.stored+1-o.head.Next], o.at); err != nil {
			return err
		}
		o.restart()
	}
	return nil
}

// finishLeases acknowledges o.leases[:count] together, with one ack.
func (o *outbox) finishLeases(ctx context.Context, count int) error {
	var later []*inbox.Lease
	for _, l := range o.leases[1:count] {
		later = append(later, l.Lease)
	}
	all, after := o.leases[0].Lease, o.leases[count-1].after
	if err := all.Join(later...); err != nil {
		return err
	}
	if err := o.finish(ctx, all, all.Messages, after); err != nil {
		return err
	}
	o.leases = o.leases[count:]
	return nil
}

// finish acknowledges msgs, the first messages of a lease, and tells the senders of those that are
// refused. Message msgs[0] has the number head.Next. The argument after is the hash up to the last
// of msgs.
func (o *outbox) finish(ctx context.Context, l *inbox.Lease, msgs []mail.Message, after hash) error {
	var refused []uint64
	for i, m := range msgs {
		n := o.head.Next + uint64(i)
		why, ok := o.refused[n]
		if !ok {
			continue
		}
		if err := o.l.Post.Refused(ctx, o.l.peer, m, why); err != nil {
			return fmt.Errorf("notify the sender of a refused message: %w", err)
		}
		if err := o.l.fault("told"); err != nil {
			return err
		}
		refused = append(refused, n)
		delete(o.refused, n)
	}
	h := o.head
	h.Next, h.Hash, h.Last, h.Refused = h.Next+uint64(len(msgs)), after, identityOf(msgs[len(msgs)-1]), refused
	if err := writeState(o.l.dir, o.l.headName(), h); err != nil {
		return err
	}
	o.head = h
	if err := o.l.fault("settled"); err != nil {
		return err
	}
	return o.ack(ctx, l, msgs, h.Next-1, refused)
}

// ack removes msgs from the outbox. The argument last is the number of the last of msgs; refused
// has the refused numbers, in ascending order. Only stored messages go into the archive: each
// record there means that the peer has stored the message.
func (o *outbox) ack(ctx context.Context, l *inbox.Lease, msgs []mail.Message, last uint64, refused []uint64) error {
	var stored, gone []string
	for i, m := range msgs {
		if _, is := slices.BinarySearch(refused, last-uint64(len(msgs)-1-i)); is {
			gone = append(gone, m.Handle())
		} else {
			stored = append(stored, m.Handle())
		}
	}
	ctx, end := brief(ctx)
	defer end()
	if err := l.AckAndRemove(ctx, stored, gone); err != nil {
		return fmt.Errorf("acknowledge the outbox: %w", err)
	}
	return o.l.fault("acked")
}
