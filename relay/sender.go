package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
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

// phase is what a sender may do. The table transitions says how one phase follows another.
type phase int

const (
	away    phase = iota // there is no link: mail waits
	fresh                // a new link, or the project is there now: the next step begins anew
	sending              // frames go out until the window is full
	absent               // the peer does not have this project: the sender only asks now and then
	barred               // the peer no longer accepts packets of this host: nothing goes out
)

// event is what may end a phase.
type event int

const (
	onLink    event = iota // a new link was made
	onLoss                 // the carrier has reported the end of the link
	onAway                 // the carrier has taken no packet, because there is no link
	onBegin                // a step has begun anew
	onHello                // a hello of the peer for this project has come
	onStored               // a receipt: the peer has the project
	onLack                 // a receipt: the peer does not have the project
	onRefusal              // a receipt: the peer has revoked this host
)

// transitions has the next phase for each event that ends a phase. Other events change nothing. So
// a link that was made while a step failed on the one before is not lost: fresh ignores onAway.
var transitions = map[phase]map[event]phase{
	away:    {onLink: fresh},
	fresh:   {onLoss: away, onBegin: sending},
	sending: {onLink: fresh, onLoss: away, onAway: away, onLack: absent, onRefusal: barred},
	absent:  {onLink: fresh, onLoss: away, onAway: away, onHello: fresh, onStored: sending, onRefusal: barred},
	barred:  {onLink: fresh, onLoss: away},
}

// sender sends the outbox of one peer. The lock mu guards the fields between mu and outbox; those
// from outbox on belong to the method run.
type sender struct {
	l    *line
	mail chan struct{} // signals that mail may wait in the outbox
	news chan struct{} // signals everything else that the next step must handle

	mu       sync.Mutex
	phase    phase
	receipts []receipt // receipts and hellos, in the order in which they came
	hellos

	outbox
	noted   shownLink       // what was last recorded for c2c list
	hub     bool            // Way.Hub at the last new link
	attempt uint32          // see header
	best    confirmation    // the most that receipts have confirmed; restart resets stored, but not this
	quick   int             // how many immediate resends since the last progress
	pause   time.Duration   // the time until the next question
	knocked atomicfile.Info // of the outbox's file when the method knock last looked at it
}

// confirmation says that the peer has stored or refused the messages of an epoch up to a number.
type confirmation struct{ epoch, number uint64 }

func (s *sender) open(l *line) error {
	s.l, s.mail, s.news, s.pause = l, make(chan struct{}, 1), make(chan struct{}, 1), firstPause
	host, err := cache.HeardFrom(l.Root, l.peer) // after a kill, Linked may be wrong; nobody knows since when, so dials stays false
	if err != nil {
		l.Log.Warn("the state of a host was not read", "host", l.peer, "err", err)
	}
	s.noted = shownLink{up: host.Linked, hub: host.Hub, absent: host.Absent}
	return s.outbox.open(l)
}

// move changes the phase after an event, and returns the new one.
func (s *sender) move(e event) phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next, ok := transitions[s.phase][e]; ok {
		s.phase = next
	}
	return s.phase
}

func (s *sender) phaseNow() phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase
}

func (s *sender) isUp() bool { return s.phaseNow() != away }

func (s *sender) linked(up bool) {
	if !up {
		s.move(onLoss)
	} else {
		s.move(onLink)
		s.repeat(s.l.Now())
	}
	daemon.Poke(s.news)
}

// receipt queues a receipt. If there are too many, it drops the oldest: each receipt also says what
// the earlier ones said.
func (s *sender) receipt(rc receipt) {
	s.mu.Lock()
	if s.receipts = append(s.receipts, rc); len(s.receipts) > mostWaiting {
		s.receipts = s.receipts[1:]
	}
	s.mu.Unlock()
	daemon.Poke(s.news)
}

// run sends mail until ctx ends. It returns an error only if a test stops the relay.
func (s *sender) run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	runs := time.Duration(0) // the pause that the timer measures; 0: none
	after := func(pause time.Duration) {
		if pause != runs { // steps may come more often than the question: a host looks each minute, on macOS each second
			runs = pause
			timer.Reset(pause)
		}
	}
	defer s.release()
	for asks, said := false, ""; ; {
		err := s.step(ctx, asks)
		if ctx.Err() != nil {
			return nil
		}
		if errors.As(err, new(*stopped)) {
			return err
		}
		mail, now := s.mail, s.phaseNow()
		switch {
		case err != nil:
			if said != err.Error() { // a lock that stays held gives the same error every few seconds
				said = err.Error()
				s.l.Log.Warn("mail for a host waits", "host", s.l.peer, "err", err)
			}
			s.restart()
			s.slower()
			pause := s.pause
			if errors.Is(err, atomicfile.ErrLockTimeout) {
				pause = min(s.pause, lockedWait)
				mail = nil // the step has closed the lock file, and that looks like new mail
			}
			after(pause)
		case s.sent > 0 && now != away && now != barred:
			after(s.pause)
		default: // there is nothing to ask for, or nobody to ask, so no timer is needed
			timer.Stop()
			runs = 0
		}
		if err == nil {
			said = ""
		}
		asks = false
		select {
		case <-ctx.Done():
			return nil
		case <-mail:
		case <-s.news:
		case <-timer.C:
			asks, runs = true, 0
		}
	}
}

func (s *sender) slower() { s.pause = min(2*s.pause, longestWait) }

// step handles new receipts and links, and sends as much as it may. If asks is set, the pause is
// over, and it asks the peer for a receipt.
func (s *sender) step(ctx context.Context, asks bool) error {
	s.mu.Lock()
	receipts := s.receipts
	s.receipts = nil
	s.mu.Unlock()
	for _, rc := range receipts {
		if err := s.settle(ctx, rc); err != nil {
			return err
		}
	}
	now := s.phaseNow()
	if now == fresh {
		now = s.move(onBegin) // before relink: a link that is made meanwhile needs another relink
		s.relink()
		asks = s.sent > 0
		if s.noted.absent { // a new link says nothing about the project
			now = s.move(onLack)
		}
	}
	s.noteLink(now)
	peer, ok := s.l.Peers.Peer(s.l.peer)
	if !ok || peer.Revoked != 0 || now == barred {
		return nil
	}
	if now == away {
		if err := s.beginFirst(ctx); err != nil {
			return err
		}
		return s.knock(ctx, peer)
	}
	err := s.sendAll(ctx, peer, now, asks)
	if errors.Is(err, ErrAway) {
		s.move(onAway)
		return nil
	}
	return err
}

// sendAll sends what a step may send over the link.
func (s *sender) sendAll(ctx context.Context, peer Host, now phase, asks bool) error {
	if err := s.sendBeside(ctx, peer); err != nil { // before anything that waits for the lock of the outbox
		return err
	}
	if err := s.beginFirst(ctx); err != nil {
		return err
	}
	if now == sending || s.sent == 0 {
		if err := s.fill(ctx, peer); err != nil {
			return err
		}
	}
	if !asks {
		return nil
	}
	s.quick = min(s.quick, quickMost-1)
	s.slower()
	s.l.hasAsked()
	return s.ask(ctx, peer)
}

// relink begins anew, with short pauses, because the peer may answer now. Frames that the carrier
// has lost are sent again at once: the peer may sleep, and then it reports no gap.
func (s *sender) relink() {
	if hub := s.l.Way(s.l.peer).Hub; hub != s.hub { // the new carrier knows nothing of earlier frames
		s.hub, s.sent = hub, 0
	}
	if carrier, ok := s.l.Carrier.(Loser); ok {
		lost := carrier.Lost(s.l.peer, s.l.Project)
		isLost := func(f frame) bool { return lost.Epoch == s.head.Epoch && f.first >= lost.Number }
		if i := slices.IndexFunc(s.frames[:s.sent], isLost); i >= 0 {
			s.sent = i
		}
	}
	s.attempt++
	s.quick, s.pause = 0, firstPause
}

// settle handles a receipt, or a hello.
func (s *sender) settle(ctx context.Context, rc receipt) error {
	if rc.hello {
		s.noted.absent = false // the method record has recorded that
		s.move(onHello)
		return nil
	}
	if rc.about != s.head.Epoch || rc.about == 0 {
		return nil // the receipt answers no frame of the present epoch
	}
	switch rc.state {
	case revoked:
		s.move(onRefusal)
		s.l.tell("it takes no mail of this host any more")
		return nil
	case noProject:
		if rc.attempt == s.attempt { // otherwise it is an older receipt that comes late
			s.move(onLack)
			s.pause = longestWait
		}
		return nil
	}
	s.move(onStored)
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
func (s *sender) fill(ctx context.Context, peer Host) error {
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

func (s *sender) sendFrame(ctx context.Context, peer Host, f frame) error {
	body := appendMessages(nil, f.msgs, s.l.Now())
	return s.send(ctx, peer, header{number: f.first, hash: f.before, count: uint16(len(f.msgs))}, body)
}

// ask asks the peer for a receipt, with a frame without messages.
func (s *sender) ask(ctx context.Context, peer Host) error {
	next, at := s.stored+1, s.at
	if s.sent > 0 {
		f := s.frames[s.sent-1]
		next, at = f.first+uint64(len(f.msgs)), f.after
	}
	return s.send(ctx, peer, header{number: next, hash: at}, nil)
}

// knock is called while there is no link. If there is new mail, it gives the carrier a packet
// without messages, so that a carrier that pauses after a failure tries again at once.
func (s *sender) knock(ctx context.Context, peer Host) error {
	now, err := s.l.Root.Stat(Outbox(s.l.peer) + ".inbox.json")
	if err == nil && now != s.knocked {
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

func (s *sender) send(ctx context.Context, peer Host, h header, body []byte) error {
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
