package relay

import (
	"context"
	"errors"
	"fmt"
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
}

func (in *receiver) open(l *line) (err error) {
	in.l = l
	in.hw, _, err = readState[highWater](l.dir, l.peer+".hw.json", l.Log)
	in.unsure = in.hw.Number + maxCount
	return err
}

// frame stores the messages of a frame if they come next, and returns the receipt. After an error, some of them may be stored.
func (in *receiver) frame(ctx context.Context, from Peer, h header, sealed []byte) (receipt, error) {
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
func (in *receiver) judge(ctx context.Context, from Peer, h header, sealed []byte) (state, error) {
	hw := in.hw
	if h.epoch > hw.Epoch { // of a new epoch, nothing is stored yet
		hw = highWater{Epoch: h.epoch, Hash: startOf(h.epoch), Anew: hw.Epoch > 0}
	}
	switch {
	case h.epoch < in.hw.Epoch:
		return newer, nil
	case h.acked > hw.Number+1:
		in.l.tell("this host had stored more of its mail than it knows of now: were files of c2c restored from a backup, or does another machine use this host's key?")
		return restored, nil
	case h.number > hw.Number+1:
		return gap, nil
	case h.count == 0 && h.epoch > in.hw.Epoch:
		return gap, nil
	case h.number+uint64(h.count) <= hw.Number:
		return fine, nil // the frame is a repetition: all its messages are stored
	}
	body, err := unseal(in.l.Peers, h, sealed)
	if err != nil {
		return fine, err
	}
	msgs, err := parseMessages(body, int(h.count), in.l.peer, in.l.Now())
	if err != nil {
		return fine, err
	}
	known, at := int(hw.Number+1-h.number), h.hash
	for _, m := range msgs[:known] {
		at = at.next(m.key)
	}
	if at != hw.Hash {
		in.l.tell("it sent other messages under numbers that it has used: do two machines use its key, or was it restored from a backup?")
		return forked, nil
	}
	hw.Refused = slices.DeleteFunc(slices.Clone(hw.Refused), func(r refusal) bool { return r.Number < h.acked })
	msgs = msgs[known:]
	if len(msgs) == 0 {
		return fine, nil
	}
	if len(hw.Refused)+len(msgs) > maxRefused {
		return gap, nil // store nothing now: the next frame confirms refusals, and so makes room for new ones
	}
	return fine, in.store(ctx, from, h, hw, msgs)
}

// store stores the next messages, and then records their numbers.
func (in *receiver) store(ctx context.Context, from Peer, h header, hw highWater, msgs []incoming) error {
	first := hw.Number + 1
	mayRepeat := first <= max(in.unsure, h.maybeStored)
	before := in.unsure
	in.unsure = max(in.unsure, first+maxCount) // until the numbers of msgs are recorded
	whole, failed := in.deliver(ctx, from, msgs, mayRepeat)
	if errors.As(failed, new(*stopped)) || whole == 0 {
		return failed
	}
	for i, m := range msgs[:whole] {
		if m.why != Stored {
			hw.Refused = append(hw.Refused, refusal{first + uint64(i), m.why})
		}
		hw.Hash = hw.Hash.next(m.key)
	}
	hw.Number += uint64(whole)
	hw.Anew = hw.Anew && h.acked == 1
	if err := in.l.fault("delivered"); err != nil {
		return err
	}
	if err := writeState(in.l.dir, in.l.peer+".hw.json", hw); err != nil {
		return errors.Join(failed, err)
	}
	if hw.Epoch > in.hw.Epoch {
		before = min(before, maxCount) // of this new epoch, at most one frame was stored without a record of its numbers
		if in.hw.Epoch > 0 {
			in.l.tell("it " + whyAnew(h.state))
		}
	}
	if in.hw = hw; failed == nil {
		in.unsure = before // not 0: a frame that a kill has interrupted may have had more messages than this frame
	}
	return errors.Join(failed, in.l.fault("noted"))
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

// deliver stores the messages that are not refused yet. The messages for one alias keep their order. If deliver refuses a message, it sets
// why. If it cannot store the mail for one alias, it goes on with the other aliases, and then returns the error. The messages msgs[:whole]
// are stored or refused; some of the later ones may be, too.
func (in *receiver) deliver(ctx context.Context, from Peer, msgs []incoming, mayRepeat bool) (whole int, failed error) {
	whole = len(msgs)
	roomFailed := false
	for _, g := range in.groups(from, msgs) {
		if g.isRoom && roomFailed {
			continue // messages about rooms keep their order, and an earlier one has failed
		}
		if err := in.deliverTo(ctx, g.to, g.msgs, mayRepeat); err != nil {
			whole, roomFailed = min(whole, g.first), roomFailed || g.isRoom
			failed = errors.Join(failed, fmt.Errorf("deliver mail of host %q to %q: %w", in.l.peer, g.to, err))
			continue
		}
		if err := in.l.fault("delivered to one"); err != nil {
			return 0, err
		}
	}
	return whole, failed
}

// group has messages for one alias or room, which are delivered together.
type group struct {
	to     string
	first  int // the index of the first of these messages in the frame
	isRoom bool
	msgs   []*incoming
}

// groups returns the messages that may be delivered. All messages about rooms keep their order, even between different rooms: a room may
// have been renamed, and another room may have got its old name.
func (in *receiver) groups(from Peer, msgs []incoming) (all []*group) {
	byName := map[string]*group{}
	room, runs := "", 0
	for i := range msgs {
		m := &msgs[i]
		_, isRoom := IsRoom(m.To)
		switch {
		case m.why != Stored:
			continue
		case !isRoom && !from.MayReach(in.l.Project, m.To): // a room checks its members itself
			m.why = Forbidden
			continue
		}
		name := strings.ToLower(m.To)
		if isRoom {
			if m.To != room {
				room, runs = m.To, runs+1
			}
			name = fmt.Sprint(runs, room) // names of rooms are case-sensitive
		}
		if byName[name] == nil {
			byName[name] = &group{to: m.To, first: i, isRoom: isRoom}
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
	if err != nil || why == Stored {
		return err
	}
	if half := len(msgs) / 2; half > 0 && (why == Full || why == Taken) {
		if err := in.deliverTo(ctx, alias, msgs[:half], mayRepeat); err != nil {
			return err
		}
		return in.deliverTo(ctx, alias, msgs[half:], mayRepeat)
	}
	for _, m := range msgs {
		m.why = why
	}
	return nil
}
