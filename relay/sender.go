package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"c2c/internal/atomicfile"
	"c2c/relay/cache"
)

const (
	window      = 64               // the most frames without a receipt, and the most leases
	quickMost   = 3                // the most immediate resends after a gap, without progress between them
	firstPause  = time.Second      // the pause before the sender first asks for a receipt
	longestWait = 5 * time.Minute  // the longest pause between two such questions
	lockedWait  = 30 * time.Second // the longest pause after a step that has met a held lock
	mostWaiting = 256              // the most receipts that wait until the method run handles them
)

// sender sends the outbox of one peer. The lock mu guards the fields between mu and outbox; those from outbox on belong to the method run.
type sender struct {
	l    *line
	wake chan struct{}

	mu       sync.Mutex
	up       bool   // there is a link
	relinked bool   // a new link was made since the last step
	there    bool   // a hello of the peer for this project has come since the last step
	wasUp    bool   // there was a link at the last step
	late     *hello // the newest hello that could not be recorded, because another process holds the lock of the record
	receipts []receipt
	hellos

	outbox
	noted   shownLink     // what was last recorded for c2c list
	locked  bool          // the last step could not record something, or not read the outbox, because another process holds a lock
	absent  bool          // the peer does not have this project: only ask now and then, until a hello for the project comes
	attempt uint32        // see header
	hub     bool          // Way.Hub at the last new link
	best    confirmation  // the most that the peer's receipts have confirmed; restart resets the field stored, but not this field
	quick   int           // how many immediate resends since the last progress
	pause   time.Duration // the time until the next question
	asks    bool          // the pause is over, so ask for a receipt
	barred  bool          // the peer no longer accepts packets of this host
	knocked stamp         // the time and size of the outbox's file when the method knock last looked at it
}

// confirmation says that the peer has stored or refused the messages of an epoch up to a number.
type confirmation struct{ epoch, number uint64 }

func (s *sender) open(l *line) error {
	s.l, s.wake, s.pause = l, make(chan struct{}, 1), firstPause
	host, err := cache.HeardFrom(l.Root, l.peer) // after a kill, Linked may be wrong; nobody knows since when, so dials stays false
	if err != nil {
		l.Log.Warn("the state of a host was not read", "host", l.peer, "err", err)
	}
	s.noted, s.absent = shownLink{up: host.Linked, hub: host.Hub, absent: host.Absent}, host.Absent
	return s.outbox.open(l)
}

func (s *sender) linked(up bool) {
	s.mu.Lock()
	s.relinked = s.relinked || up
	s.up, s.told = up, s.told && !up
	if up {
		s.repeat(s.l.Now())
	}
	s.mu.Unlock()
	s.look()
}

// isThere records that a hello of the peer for this project has come. If anew is set, the peer's relay was restarted, and may not know our
// sessions.
func (s *sender) isThere(anew bool) {
	s.mu.Lock()
	s.there = true
	s.told = s.told && !anew
	s.mu.Unlock()
	s.look()
}

func (s *sender) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// receipt queues a receipt. If there are too many, it drops the oldest: each receipt also says what the earlier ones said.
func (s *sender) receipt(rc receipt) {
	s.mu.Lock()
	if s.receipts = append(s.receipts, rc); len(s.receipts) > mostWaiting {
		s.receipts = s.receipts[1:]
	}
	s.mu.Unlock()
	s.look()
}

// run sends mail until ctx ends. It returns an error only if a test stops the relay.
func (s *sender) run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer s.release()
	for said := ""; ; {
		err := s.step(ctx)
		if err == nil {
			said = ""
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, new(*stopped)):
			return err
		case err != nil:
			if said != err.Error() { // log it only once: if a lock stays held, the same error comes every few seconds
				said = err.Error()
				s.l.Log.Warn("mail for a host waits", "host", s.l.peer, "err", err)
			}
			s.restart()
			s.slower()
			s.locked = s.locked || errors.Is(err, atomicfile.ErrLockTimeout)
			timer.Reset(s.pause)
		case s.sent > 0 && s.isUp() && !s.barred:
			timer.Reset(s.pause)
		case s.locked:
			s.slower()
		default: // there is nothing to ask for, or nobody to ask, so no timer is needed: mail, a receipt or a link wakes the sender
			timer.Stop()
		}
		if s.locked {
			timer.Reset(min(s.pause, lockedWait))
		}
		if s.await(ctx, timer) != nil {
			return nil
		}
	}
}

// await waits until there is something to do. After a step that has met a held lock, await ignores new mail: when the step stopped waiting
// for the lock, it closed the lock file, and that looks like new mail.
func (s *sender) await(ctx context.Context, timer *time.Timer) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
			if !s.locked || s.hasNews() {
				return nil
			}
		case <-timer.C:
			s.asks = true
			return nil
		}
	}
}

// hasNews reports whether the other goroutines have left something for the next step, beside mail in the outbox.
func (s *sender) hasNews() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.receipts) > 0 || s.relinked || s.there || s.up != s.wasUp || s.up && (s.sessions != nil && !s.told || len(s.states) > 0)
}

func (s *sender) isUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

func (s *sender) slower() { s.pause = min(2*s.pause, longestWait) }

// step handles new receipts and links, and sends as much as it may.
func (s *sender) step(ctx context.Context) error {
	s.mu.Lock()
	receipts, up, relinked, there, late := s.receipts, s.up, s.relinked, s.there, s.late
	s.receipts, s.relinked, s.there, s.late = nil, false, false, nil
	s.wasUp, s.locked = up, false
	s.mu.Unlock()
	if late != nil {
		s.locked = s.l.record(ctx, *late) != nil
	}
	for _, rc := range receipts {
		if err := s.settle(ctx, rc); err != nil {
			return err
		}
	}
	if there && s.absent {
		s.absent = false
		s.tryAnew()
	}
	s.noteLink(ctx, up && (s.l.Way(s.l.peer).Hub || !s.l.isSilent()))
	if relinked {
		s.relink()
	}
	peer, ok := s.l.Peers.Peer(s.l.peer)
	if !ok || peer.Revoked() || s.barred {
		s.asks = false
		return nil
	}
	var err error
	if up {
		err = s.sendBeside(ctx, peer) // before anything that waits for the lock of the outbox
	}
	if err == nil {
		err = s.beginFirst(ctx)
	}
	if !up {
		s.asks = false
		if err == nil {
			err = s.knock(ctx, peer)
		}
		return err
	}
	if err == nil && (!s.absent || s.sent == 0) {
		err = s.fill(ctx, peer)
	}
	if err == nil && s.asks {
		s.asks, s.quick = false, min(s.quick, quickMost-1)
		s.slower()
		s.l.hasAsked()
		err = s.ask(ctx, peer)
	}
	if errors.Is(err, ErrAway) {
		s.mu.Lock()
		s.up = s.relinked // false, unless there is a new link
		s.mu.Unlock()
		return nil
	}
	return err
}

// relink begins with a new link. Frames that the carrier has lost are sent again at once: the peer may sleep, and then it reports no gap.
func (s *sender) relink() {
	s.barred = false
	if hub := s.l.Way(s.l.peer).Hub; hub != s.hub { // the new carrier knows nothing of the frames that the former one had
		s.hub, s.sent = hub, 0
	}
	if carrier, ok := s.l.Carrier.(Loser); ok {
		lost := carrier.Lost(s.l.peer, s.l.Project)
		isLost := func(f frame) bool { return lost.Epoch == s.head.Epoch && f.first >= lost.Number }
		if i := slices.IndexFunc(s.frames[:s.sent], isLost); i >= 0 {
			s.sent = i
		}
	}
	s.tryAnew()
}

// tryAnew begins with short pauses again, because the peer may answer now.
func (s *sender) tryAnew() {
	s.attempt++
	s.quick, s.pause, s.asks = 0, firstPause, s.sent > 0
}

// settle handles a receipt.
func (s *sender) settle(ctx context.Context, rc receipt) error {
	if rc.about != s.head.Epoch || rc.about == 0 {
		return nil // the receipt answers no frame of the present epoch
	}
	switch rc.state {
	case revoked:
		s.barred = true
		s.l.tell("it takes no mail of this host any more")
		return nil
	case noProject:
		if rc.attempt == s.attempt { // otherwise it is an older receipt that comes late
			s.absent = true
			s.pause = longestWait
		}
		return nil
	}
	s.absent = false
	switch {
	case rc.state == newer && rc.epoch <= s.head.Epoch:
		return nil
	case rc.state == restored, rc.state == forked, rc.state == newer:
		return s.recount(ctx, rc)
	}
	if rc.epoch != s.head.Epoch || rc.number < s.stored {
		return nil
	}
	if at, ok, err := s.hashAt(ctx, rc.number); err != nil {
		return err
	} else if !ok || at != rc.hash {
		rc.state = forked
		return s.recount(ctx, rc)
	}
	if rc.state == anew && s.head.Why == fine {
		s.l.tell("it has stored mail of this host under other numbers: this host has lost its record of sent mail, and starts new numbers")
	}
	if confirmed := (confirmation{rc.epoch, rc.number}); confirmed.epoch != s.best.epoch || confirmed.number > s.best.number {
		s.best = confirmed
		s.quick, s.pause = 0, firstPause
	}
	if err := s.progress(ctx, rc); err != nil {
		return err
	}
	if rc.state == gap && rc.attempt == s.attempt && s.sent > 0 && s.quick < quickMost {
		s.quick++
		s.attempt++
		s.sent = 0
		if len(s.leases) >= window { // the peer cannot store one of the messages: make larger leases and frames, which bring more of the others
			s.restart()
		}
	}
	return nil
}

// recount begins a new epoch, because the two hosts disagree about the stored messages.
func (s *sender) recount(ctx context.Context, rc receipt) error {
	if now := s.l.Now(); now.Sub(s.recounted) >= 0 && now.Sub(s.recounted) < firstPause {
		return nil // wait, and ask the peer again later: otherwise two hosts with one key would keep each other busy
	} else {
		s.recounted = now
	}
	s.l.tell("its mail is numbered anew: " + map[state]string{
		restored: "it has not stored mail for which this host has receipts: was it restored from a backup?",
		forked:   "it has other messages under the numbers of this host: do two machines use this host's key, or was this host restored from a backup?",
		newer:    "it has mail under later numbers of this host: do two machines use this host's key, or was this host restored from a backup?",
	}[rc.state])
	return s.outbox.recount(ctx, rc.state, rc.epoch)
}

// fill sends new frames until the window is full.
func (s *sender) fill(ctx context.Context, peer Peer) error {
	f, ok, err := s.ahead(ctx)
	if err == nil && ok {
		if err = s.sendFrame(ctx, peer, f); err == nil {
			err = s.l.fault("sent ahead")
		}
		if err == nil {
			err = s.take(ctx, f)
		}
		if err == nil {
			s.sent = 1
		}
	}
	for err == nil && s.sent < window {
		if s.sent < len(s.frames) {
			if err = s.sendFrame(ctx, peer, s.frames[s.sent]); err == nil {
				s.sent++
			}
		} else if more, lerr := s.lease(ctx); lerr != nil || !more {
			return lerr
		}
	}
	return err
}

func (s *sender) sendFrame(ctx context.Context, peer Peer, f frame) error {
	body := appendMessages(nil, f.msgs, s.l.Now())
	return s.send(ctx, peer, header{number: f.first, hash: f.before, count: uint16(len(f.msgs))}, body)
}

// ask asks the peer for a receipt, with a frame without messages.
func (s *sender) ask(ctx context.Context, peer Peer) error {
	next, at := s.stored+1, s.at
	if s.sent > 0 {
		f := s.frames[s.sent-1]
		next, at = f.first+uint64(len(f.msgs)), f.after
	}
	return s.send(ctx, peer, header{number: next, hash: at}, nil)
}

// knock is called while there is no link. If there is new mail, it gives the carrier a packet without messages, so that a carrier that
// pauses after a failure tries again at once.
func (s *sender) knock(ctx context.Context, peer Peer) error {
	at, size, err := s.l.Root.TimeOf(Outbox(s.l.peer) + ".inbox.json")
	if now := (stamp{at, size}); err == nil && now != s.knocked {
		s.knocked = now
		if used, err := s.box.Used(); err != nil || !used {
			return err
		}
		if err := s.ask(ctx, peer); !errors.Is(err, ErrAway) {
			return err
		}
	}
	return nil
}

// stamp has the time and the size of a file, by which changes of the file are noticed.
type stamp struct {
	at   time.Time
	size int64
}

func (s *sender) send(ctx context.Context, peer Peer, h header, body []byte) error {
	h.kind, h.project, h.epoch, h.acked, h.maybeStored, h.attempt, h.state = Frame, s.l.Project, s.head.Epoch, s.head.Next, s.head.MaybeStored, s.attempt, s.head.Why
	packet, err := pack(s.l.Peers, peer, h, body)
	if err != nil {
		return err
	}
	if err := s.l.fault("send"); err != nil {
		return err
	}
	if err := s.l.Carrier.Send(ctx, s.l.peer, packet); err != nil {
		return fmt.Errorf("send to host %q: %w", s.l.peer, err)
	}
	return nil
}

// stopped wraps an error of Config.Fault, with which a test stops the relay.
type stopped struct{ error }

func (l *line) fault(step string) error {
	if err := l.Config.Fault(step); err != nil {
		return &stopped{err}
	}
	return nil
}
