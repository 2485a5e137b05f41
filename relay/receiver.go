package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"c2c/inbox/mail"
)

// maxRefused limits the number of refusals that a peer has not confirmed yet.
const maxRefused = 4 * maxCount

// receiver stores the messages of one peer in the order of their numbers.
type receiver struct {
	l *line

	mu     sync.Mutex
	hw     highWater // zero: nothing of the peer is stored
	closed bool
	unsure uint64 // messages up to this number may be stored already, because a kill or an error came before hw was written
	ahead  place
}

// place is a point in the messages of a peer: this host has tried to store all messages up to this
// point. If a message could not be stored, the receiver still stores later messages, also those of
// later frames, but not those of the same queue (see group). Then the place is ahead of hw. After a
// restart the receiver begins at hw again.
type place struct {
	epoch, number uint64
	hash          hash            // the hash over all messages of the epoch, up to number
	waits         map[string]bool // the queues in which a message could not be stored
}

func (in *receiver) open(l *line) (err error) {
	in.l = l
	in.hw, _, err = readState[highWater](l.dir, l.peer+".hw.json", l.Log)
	in.unsure = in.hw.Number + maxCount
	return err
}

// frame stores the messages of a frame if they come next, and returns the receipt. After an error,
// some of them may be stored.
func (in *receiver) frame(ctx context.Context, from Host, h header, sealed []byte) (receipt, error) {
	if h.number == 0 || h.acked == 0 || h.epoch == 0 {
		return receipt{}, fmt.Errorf("%w: one of its numbers is 0", errForeign)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return receipt{}, errClosed
	}
	state, err := in.judge(ctx, from, h, sealed)
	rc := receipt{epoch: in.hw.Epoch, number: in.hw.Number, hash: in.hw.Hash, state: state, refused: in.hw.Refused}
	switch {
	case state == gap && h.epoch > in.hw.Epoch:
		rc.epoch, rc.number, rc.hash, rc.refused = h.epoch, 0, startOf(h.epoch), nil
	case h.epoch != in.hw.Epoch:
		rc.refused = nil
	case state == fine && in.hw.Anew && h.acked == 1:
		rc.state = anew
	}
	return rc, err
}

// judge compares a frame with the stored messages, and stores those messages that come next.
func (in *receiver) judge(ctx context.Context, from Host, h header, sealed []byte) (state, error) {
	hw := in.hw
	if h.epoch > hw.Epoch { // of a new epoch, nothing is stored yet
		hw = highWater{Epoch: h.epoch, Hash: startOf(h.epoch), Anew: hw.Epoch > 0}
	}
	begin := place{epoch: h.epoch, number: hw.Number, hash: hw.Hash}
	if h.epoch == in.ahead.epoch && h.number > hw.Number+1 {
		begin = in.ahead
	}
	switch {
	case h.epoch < in.hw.Epoch:
		return newer, nil
	case h.acked > hw.Number+1:
		in.l.tell("this host had stored more mail of that machine than it knows of now: were files of c2c restored from a backup, or does another machine use this host's key?")
		return restored, nil
	case h.number > begin.number+1:
		return gap, nil
	case h.count == 0 && (h.epoch > in.hw.Epoch || h.number > hw.Number+1):
		return gap, nil // the frame only asks for a receipt; the state gap in the receipt makes the sender send the messages after hw again
	case h.number+uint64(h.count) <= begin.number:
		return fine, nil // the frame is a repetition
	}
	body, err := unseal(in.l.Peers, h, sealed)
	if err != nil {
		return fine, err
	}
	msgs, err := parseMessages(body, int(h.count), in.l.peer, in.l.Now())
	if err != nil {
		return fine, err
	}
	known, at := int(begin.number+1-h.number), h.hash
	for _, m := range msgs[:known] {
		at = at.next(m.key)
	}
	if at != begin.hash && begin.number > hw.Number {
		in.ahead = place{}
		return gap, nil // the sender sends the messages after hw again, and then they are compared with hw
	}
	if at != begin.hash {
		in.l.tell("it sent other messages under numbers that it has used: do two machines use its key, or was it restored from a backup?")
		return forked, nil
	}
	hw.Refused = slices.DeleteFunc(slices.Clone(hw.Refused), func(r refusal) bool { return r.Number < h.acked })
	hw.Ahead = slices.Clone(hw.Ahead)
	msgs = msgs[known:]
	msgs = msgs[:min(uint64(len(msgs)), hw.Number+maxCount-begin.number)] // at most maxCount after hw, because open relies on that
	if len(msgs) == 0 {
		return fine, nil
	}
	if len(hw.Refused)+len(msgs) > maxRefused {
		return gap, nil // store nothing now: the next frame confirms refusals, and so makes room for new ones
	}
	return fine, in.store(ctx, from, h, hw, begin, msgs)
}

// store stores the messages after the place begin, and then records their numbers.
func (in *receiver) store(ctx context.Context, from Host, h header, hw highWater, begin place, msgs []incoming) error {
	first, before, was := begin.number+1, in.unsure, in.ahead
	mayRepeat := first <= max(in.unsure, h.maybeStored)
	in.unsure = max(in.unsure, first+maxCount) // until the numbers of msgs are recorded
	in.ahead = place{}
	end := place{h.epoch, begin.number + uint64(len(msgs)), begin.hash, map[string]bool{}}
	maps.Copy(end.waits, begin.waits)
	for i := range msgs {
		end.hash = end.hash.next(msgs[i].key)
		msgs[i].hash, msgs[i].done = end.hash, slices.Contains(hw.Ahead, end.hash)
	}
	failed := in.deliver(ctx, from, msgs, mayRepeat, end.waits)
	if errors.As(failed, new(*stopped)) {
		return failed
	}
	if hw.settle(first, msgs) {
		hw.Anew = hw.Anew && h.acked == 1
		if err := in.l.fault("delivered"); err != nil {
			return err
		}
		if err := writeState(in.l.dir, in.l.peer+".hw.json", hw); err != nil {
			return errors.Join(failed, err)
		}
		if hw.Epoch > in.hw.Epoch {
			before = min(before, maxCount) // before is of the old epoch; of the new epoch, at most one frame is stored and not recorded
			if in.hw.Epoch > 0 {
				in.l.tell("it " + whyAnew(h.state))
			}
		}
		in.hw = hw
		failed = errors.Join(failed, in.l.fault("noted"))
	}
	if in.ahead = end; was.epoch == h.epoch && was.number > end.number { // an older frame came again, because it was not stored whole
		in.ahead = was
	}
	if in.unsure = before; failed != nil { // not 0: a kill may have interrupted an earlier frame that had more messages than this one
		in.unsure = max(before, first+maxCount)
	}
	return failed
}

// settle records which of msgs are stored or refused. The argument first is the number of msgs[0].
// It returns false if nothing is new.
func (hw *highWater) settle(first uint64, msgs []incoming) (news bool) {
	for i, m := range msgs {
		if !m.done {
			continue
		}
		n, known := first+uint64(i), slices.Index(hw.Ahead, m.hash)
		if known < 0 && m.why != Stored {
			hw.Refused = append(hw.Refused, refusal{n, m.why})
		}
		switch {
		case n == hw.Number+1:
			hw.Number, hw.Hash = n, m.hash
			if known >= 0 {
				hw.Ahead = slices.Delete(hw.Ahead, known, known+1)
			}
		case known < 0:
			hw.Ahead = append(hw.Ahead, m.hash)
		default:
			continue
		}
		news = true
	}
	return news
}

// whyAnew explains why a host has begun a new epoch.
func whyAnew(why state) string {
	switch why {
	case restored:
		return "numbers its mail anew, since this host knew less than it had receipts for"
	case forked, newer:
		return "numbers its mail anew: two machines use its key, or it was restored from a backup"
	default:
		return "numbers its mail anew: it has lost its record of what it had sent"
	}
}

// deliver stores the messages that are not done yet. If it stores or refuses one, it sets the field
// done. If it cannot store the mail of a queue, it adds the queue to waits, goes on with the other
// queues, and then returns the error. It leaves out queues that are in waits.
func (in *receiver) deliver(ctx context.Context, from Host, msgs []incoming, mayRepeat bool, waits map[string]bool) (failed error) {
	for _, g := range in.groups(from, msgs) {
		if waits[g.queue] {
			continue
		}
		if err := in.deliverTo(ctx, g.to, g.msgs, mayRepeat); err != nil {
			waits[g.queue] = true
			failed = errors.Join(failed, fmt.Errorf("deliver mail of host %q to %q: %w", in.l.peer, g.to, err))
			continue
		}
		if err := in.l.fault("delivered to one"); err != nil {
			return err
		}
	}
	return failed
}

// group has messages for one alias or room, which are delivered together.
type group struct {
	to    string
	queue string // mail of one queue keeps its order; all mail for one alias is one queue, and so are all messages about rooms
	msgs  []*incoming
}

// ofRooms is the queue of all messages about rooms, even of different rooms.
const ofRooms = "#"

// groups returns the messages that may be delivered. It refuses those that their sender may not
// send.
func (in *receiver) groups(from Host, msgs []incoming) (all []*group) {
	byName := map[string]*group{}
	room, runs := "", 0
	for i := range msgs {
		m := &msgs[i]
		_, isRoom := IsRoom(m.To)
		if m.why == Stored && !isRoom && !from.MayReach(in.l.Project, m.To) { // a room checks its members itself
			m.why = Forbidden
		}
		if m.done = m.done || m.why != Stored; m.done {
			continue
		}
		name := strings.ToLower(m.To)
		queue := name
		if isRoom {
			if m.To != room {
				room, runs = m.To, runs+1
			}
			name, queue = fmt.Sprint(runs, room), ofRooms // names of rooms are case-sensitive
		}
		if byName[name] == nil {
			byName[name] = &group{to: m.To, queue: queue}
			all = append(all, byName[name])
		}
		byName[name].msgs = append(byName[name].msgs, m)
	}
	return all
}

func (in *receiver) deliverTo(ctx context.Context, alias string, msgs []*incoming, mayRepeat bool) error {
	if _, isRoom := IsRoom(alias); isRoom && len(msgs) > 1 && slices.ContainsFunc(msgs, func(m *incoming) bool { return m.Kind != mail.KindSystem }) {
		for i := range msgs { // each message to a room is an action of its own, and may be refused alone
			if err := in.deliverTo(ctx, alias, msgs[i:i+1], mayRepeat); err != nil {
				return err
			}
		}
		return nil
	}
	plain := make([]mail.Message, len(msgs))
	for i, m := range msgs {
		plain[i] = m.Message
	}
	why, err := in.l.Post.Deliver(ctx, in.l.peer, alias, plain, mayRepeat)
	if err != nil {
		return err
	}
	if half := len(msgs) / 2; half > 0 && (why == Full || why == Taken) {
		if err := in.deliverTo(ctx, alias, msgs[:half], mayRepeat); err != nil {
			return err
		}
		return in.deliverTo(ctx, alias, msgs[half:], mayRepeat)
	}
	for _, m := range msgs {
		m.why, m.done = why, true
	}
	return nil
}
