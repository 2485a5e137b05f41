package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox"
)

// The loop guard stops agents that only answer each other. It is a circuit breaker for a chain of messages, each sent because of
// the one before:
//
//   - closed while somebody works: the hops of a chain begin anew at each sender who has worked since the message came;
//   - open when nobody has worked for so many hops: the next answer in the chain is held;
//   - half-open when the chain was silent for guardPause: then the message that is held is handed over. If work follows, the
//     chain is closed. If not, the answer to it is held.
//
// The count stands in the messages themselves. What a session has worked stands in its own file (work.go).

// ErrStorm: agents have answered each other too often without any work, one message is held already, and no more is stored.
var ErrStorm = errors.New("too many answers")

const (
	stormHops = 50
	// blindTimes is how many times as many hops those may take whose clients tell of no tool calls: honest work looks the same.
	blindTimes = 10
	// guardPause ends a chain: somebody has worked, or thought, in between.
	guardPause = inbox.LongestHold
	// mostHops bounds what a file can say.
	mostHops = 1 << 20
)

// StormLimits bound how agents may answer each other without any work.
type StormLimits struct {
	Hops int // in a row; 0: 50; negative: no limit
}

// StormHopsVariable sets the limit; 0 there is no limit.
const StormHopsVariable = "C2C_STORM_HOPS"

// StormLimitsOf reads the limit from the environment. What is no number counts as not set.
func StormLimitsOf(getenv func(string) string) StormLimits {
	n, err := strconv.Atoi(strings.TrimSpace(getenv(StormHopsVariable)))
	if err == nil && n <= 0 {
		return StormLimits{-1}
	}
	return StormLimits{n}
}

func (l StormLimits) withDefaults() StormLimits {
	if l.Hops == 0 {
		l.Hops = stormHops
	}
	return l
}

// of is the limit for a sender.
func (l StormLimits) of(w work) int {
	if w.tools {
		return l.Hops
	}
	return min(l.Hops, mostHops/blindTimes) * blindTimes
}

// guard counts a message, and holds it when its chain is open. note is for its sender, ErrStorm says that it is not to be
// stored. A person's mail is not counted.
func (b *Broker) guard(ctx context.Context, from Session, to row, box *inbox.Mailbox, m *inbox.Message) (note string, err error) {
	m.Held, m.NotBefore, m.GuardHops, m.GuardChain = "", 0, 0, ""
	sid := to.sid()
	if b.storm.Hops < 0 || isPersonID(from.ID) || isPersonID(sid) || !inbox.ValidName(from.ID) {
		return "", nil
	}
	did := b.workOf(from.ID)
	// No mail came since then. Without that file the archive says when it came.
	if came, _, err := b.root.TimeOf(from.ID + ".inbox.lock"); err == nil && did.since(came) {
		return "", nil
	}
	limit := b.storm.of(did)
	l, err := b.linkOf(from, *m, did, limit)
	if err != nil || l.hops == 0 {
		return "", err
	}
	if l.hops > limit && !b.inChain(l, to, box) {
		return "", nil
	}
	m.GuardHops, m.GuardChain = float64(l.hops), l.chain
	if l.hops <= limit || hasOf(ctx, box, from, m.ID) { // of one that is sent once more nothing is stored
		return "", nil
	}
	return b.hold(ctx, from, to, box, m)
}

// hold marks a message as held, or refuses it when one of its sender is held already.
func (b *Broker) hold(ctx context.Context, from Session, to row, box *inbox.Mailbox, m *inbox.Message) (note string, err error) {
	now := b.now()
	why := fmt.Sprintf("you and %s have answered each other too often without any work in between", to.alias())
	then := fmt.Sprintf("Work first, or tell your user: c2c resume %s %s lets you go on", from.Alias, to.alias())
	held, err := b.heldOf(ctx, from.ID, to.sid(), box)
	if err != nil {
		return "", err
	}
	if len(held) > 0 {
		wait := inbox.FromSeconds(held[0].OpensAt()).Sub(now)
		return "", fmt.Errorf("%w: %s, and a message is held already for %s, so this one was not stored. %s", ErrStorm, why, span(wait), then)
	}
	opens := now.Add(guardPause)
	if m.ExpiresAt != 0 && m.ExpiresAt <= inbox.Seconds(opens) {
		return "", fmt.Errorf("%w: %s, so it would be held for %s and expire before: it was not stored. %s", ErrStorm, why, span(guardPause), then)
	}
	m.Held, m.NotBefore = from.ID, inbox.Seconds(opens)
	return fmt.Sprintf("it is stored and held for %s, until %s: %s. %s", span(guardPause), opens.Format("15:04"), why, then), nil
}

// hasOf says whether a mailbox has had a message with an id that the sender has chosen.
func hasOf(ctx context.Context, box *inbox.Mailbox, from Session, id string) bool {
	if id == "" {
		return false
	}
	found, err := box.FindAll(ctx, id)
	return err == nil && slices.ContainsFunc(found, func(f inbox.Found) bool { return f.Message.FromSession == from.ID })
}

// heldOf gives the messages of one session that are held in the mailbox of another.
func (b *Broker) heldOf(ctx context.Context, from, to string, box *inbox.Mailbox) ([]inbox.Message, error) {
	all, err := box.PeekAll(ctx)
	return slices.DeleteFunc(all, func(m inbox.Message) bool { return m.Held != from || !b.held(to, m) }), err
}

// held says whether a message in the mailbox of a session is still held: its time has not come, and neither side has worked
// since it was sent.
func (b *Broker) held(sid string, m inbox.Message) bool {
	if m.Held == "" || !m.KeptBack(inbox.Seconds(b.now())) {
		return false
	}
	sent := m.Time()
	return !(inbox.ValidName(m.Held) && b.workOf(m.Held).since(sent)) && !b.workOf(sid).since(sent)
}

// opens is when a message is handed over that is kept back now; zero: it is not.
func (b *Broker) opens(sid string, m inbox.Message) time.Time {
	if !m.KeptBack(inbox.Seconds(b.now())) || m.Held != "" && !b.held(sid, m) {
		return time.Time{}
	}
	return inbox.FromSeconds(m.OpensAt())
}

// tellHeld is tellStorm, called by the process that has sent the message. If that fails or is killed, a Keeper tells them.
func (b *Broker) tellHeld(ctx context.Context, to string, m inbox.Message) {
	if err := b.tellStorm(ctx, to, m); err != nil {
		b.log.Warn("nobody is told that a message is held", "message_id", m.ID, "err", err)
	}
}

// tellStorm tells both agents and their people, once for each chain.
func (b *Broker) tellStorm(ctx context.Context, to string, m inbox.Message) error {
	rows, err := b.rows(ctx)
	if err != nil {
		return err
	}
	i, j := findSID(rows, m.Held), findSID(rows, to)
	if i < 0 || j < 0 {
		return nil
	}
	one, two := min(m.Held, to), max(m.Held, to)
	a, c := rows[i].alias(), rows[j].alias()
	person := personPrefix + strconv.Itoa(os.Getuid())
	text := func(subject string) string {
		return fmt.Sprintf("%s have answered each other too often without any work in between, so c2c lets one message through every %s until somebody works. c2c resume %s %s lets them go on now.",
			subject, span(guardPause), a, c)
	}
	var errs []error
	for _, n := range []struct{ sid, alias, text string }{
		{rows[i].sid(), a, text("You and " + c)}, {rows[j].sid(), c, text("You and " + a)}, {person, person, text(a + " and " + c)},
	} {
		id := noticeID("storm", one, two, m.GuardChain, n.sid)
		errs = append(errs, b.notify(ctx, n.sid, inbox.Message{To: n.alias, ID: id, Content: n.text}, "storm"))
	}
	return errors.Join(errs...)
}

// Resume is a person's word that lets two sessions go on: it counts as work of both. held says how many messages are handed
// over now.
func (b *Broker) Resume(ctx context.Context, one, two string) (held int, err error) {
	rows, err := b.rows(ctx)
	if err != nil {
		return 0, err
	}
	var sids [2]string
	for i, alias := range []string{one, two} {
		r := b.receiver(rows, alias)
		if r == nil {
			return 0, &UnknownAliasError{Alias: alias, Closest: closest(rows, alias)}
		}
		sids[i] = r.sid()
	}
	if sids[0] == sids[1] {
		return 0, fmt.Errorf("%q and %q are one session", one, two)
	}
	var boxes [2]*inbox.Mailbox
	for i, sid := range sids {
		if boxes[i], err = b.Mailbox(sid); err != nil {
			return 0, err
		}
		msgs, err := b.heldOf(ctx, sids[1-i], sid, boxes[i])
		if err != nil {
			return 0, err
		}
		held += len(msgs)
	}
	for _, sid := range sids {
		if err := b.SawWork(sid, false); err != nil {
			return 0, err
		}
	}
	// A reader of an older version that still runs hands over what is held once there is no ledger.
	if err := new(inbox.Pruned).Remove(b.root, oldLedgers, false); err != nil {
		b.log.Warn("a reader of an older version may not hand over what was held", "err", err)
	}
	b.record(ctx, "resume", Note{"session_id", sids[0]}, Note{"with", sids[1]})
	for _, box := range boxes {
		if err := box.Stir(ctx); err != nil {
			return held, err
		}
	}
	return held, nil
}
