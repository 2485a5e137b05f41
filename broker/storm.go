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

// ErrStorm: two agents have answered each other too often, and no more of their mail is stored until a person lets them
// go on.
var ErrStorm = errors.New("too many answers")

const (
	// The limits when nobody has set others. A model's turn takes ten seconds and more, so two that only answer each other
	// pass a hundred in half an hour; two that work in between write some ten messages an hour.
	stormAnswers = 120
	stormHops    = 50
	// stormTime is the time for which answers are counted.
	stormTime = time.Hour
	// stormPause ends a row of answers: somebody has worked, or thought, in between.
	stormPause = 15 * time.Minute
	// maxSlow is the longest time that a message is kept back to slow a conversation.
	maxSlow = time.Minute
	// maxHeld is how many messages of one side are held; further ones are refused.
	maxHeld = 3
)

// StormLimits bound how two agents may answer each other without a person. From half of a limit on they are slowed.
type StormLimits struct {
	Answers int // within an hour; 0: 120; negative: no limit
	Hops    int // in a row, each to the one before and within 15 min; 0: 50; negative: no limit
}

// Variables that set them; 0 is no limit.
const (
	StormAnswersVariable = "C2C_STORM_ANSWERS"
	StormHopsVariable    = "C2C_STORM_HOPS"
)

// StormLimitsOf reads the limits from the environment. What is no number counts as not set.
func StormLimitsOf(getenv func(string) string) StormLimits {
	limit := func(name string) int {
		n, err := strconv.Atoi(strings.TrimSpace(getenv(name)))
		if err == nil && n <= 0 {
			return -1
		}
		return n
	}
	return StormLimits{limit(StormAnswersVariable), limit(StormHopsVariable)}
}

func (l StormLimits) withDefaults() StormLimits {
	if l.Answers == 0 {
		l.Answers = stormAnswers
	}
	if l.Hops == 0 {
		l.Hops = stormHops
	}
	return l
}

// over says by how much a count is over half of a limit, and whether it is over the limit.
func over(count, limit int) (half int, all bool) {
	if limit < 0 {
		return 0, false
	}
	return count - limit/2, count > limit
}

// verdict is what becomes of a message that an agent sends to another.
type verdict struct {
	entry entry
	to    string
	long  []entry // the receiver's ledger, if it is time for a new file
	note  string  // for its sender
}

// judge decides whether a message is slowed, held or refused, and marks it. A person's messages are not counted.
func (b *Broker) judge(ctx context.Context, from Session, to row, box *inbox.Mailbox, m *inbox.Message) (v verdict, err error) {
	m.Held, m.NotBefore = "", 0
	sid := to.sid()
	if isPersonID(from.ID) || isPersonID(sid) || !inbox.ValidName(from.ID) || !inbox.ValidName(sid) {
		return v, nil
	}
	mine, theirs, err := b.ledgers(from.ID, sid)
	if err != nil {
		return v, err
	}
	now := b.now()
	x := exchanged(from.ID, sid, mine.entries, theirs.entries)
	hops := hopsOf(mine.entries, m.InReplyTo, now.Add(-stormPause))
	v = verdict{entry: entry{now.UnixMilli(), sentMark, hops, from.ID, ""}, to: sid}
	if theirs.size >= ledgerMax {
		v.long = theirs.entries
	}
	answers := x.answers(now.Add(-stormTime), from.ID)
	halfAnswers, allAnswers := over(answers, b.storm.Answers)
	halfHops, allHops := over(hops, b.storm.Hops)
	count, opens := max(answers, hops), now.Add(slowed(max(halfAnswers, halfHops)))
	for _, e := range x.entries { // what is sent behind a slowed message is slowed, too, or it would overtake that one
		half, _ := over(e.hops, b.storm.Hops)
		until := time.UnixMilli(e.at + 1).Add(slowed(half))
		if half > 0 && e.from == from.ID && until.After(opens) && !until.After(now.Add(maxSlow)) {
			count, opens = max(count, e.hops), until
		}
	}
	switch {
	case x.stopped("") || allAnswers || allHops:
		if hasOf(ctx, box, from, m.ID) { // it is sent once more, and nothing more is stored
			return verdict{}, nil
		}
		err = b.hold(ctx, from, to, box, m, &v, x)
		return v, err
	case opens.After(now):
		m.NotBefore = inbox.Seconds(opens)
		times := fmt.Sprintf("%d times", count)
		if count == 1 {
			times = "once"
		}
		v.note = fmt.Sprintf("you and %s have answered each other %s without a person: it is handed over in %s", to.alias(), times, span(opens.Sub(now)))
	}
	return v, nil
}

// slowed is for how long a message is kept back that is so many answers over half of a limit.
func slowed(answers int) time.Duration {
	return min(time.Duration(max(answers, 0))*time.Second, maxSlow)
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

// hold holds a message, or refuses it when as many of this sender are held. The ledger tells of the first one, and is
// written before it: a message that is marked when the ledger tells of none would be handed over.
func (b *Broker) hold(ctx context.Context, from Session, to row, box *inbox.Mailbox, m *inbox.Message, v *verdict, x exchange) error {
	held, err := b.heldOf(ctx, from.ID, v.to, box)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("you and %s have answered each other too often without a person", to.alias())
	then := fmt.Sprintf("Tell your user: c2c resume %s %s lets you go on", from.Alias, to.alias())
	if len(held) >= maxHeld {
		return fmt.Errorf("%w: %s, and %d messages are held already, so this one was not stored. %s", ErrStorm, why, len(held), then)
	}
	m.Held = from.ID
	v.entry.mark, v.entry.id = heldMark, "-"
	v.note = fmt.Sprintf("it is stored and held: %s. %s", why, then)
	if x.stopped(from.ID) {
		return nil
	}
	return b.enter(v.to, v.entry)
}

// count puts a message that was stored into the ledger, or tells the people when it is held. Errors are only logged:
// the message is stored.
func (b *Broker) count(ctx context.Context, v verdict, m inbox.Message) {
	if v.to == "" {
		return
	}
	var err error
	if v.entry.mark == heldMark {
		err = b.tellStorm(ctx, v.to, m)
	} else {
		v.entry.id = m.ID
		err = b.enter(v.to, v.entry)
	}
	if v.long != nil {
		err = errors.Join(err, b.turnLedger(v.to, v.long))
	}
	if err != nil {
		b.log.Warn("a message is not counted", "message_id", m.ID, "err", err)
	}
}

// held says whether a message in the mailbox of a session, that was held when it was sent, is still held. A message in
// another mailbox is not: that session has taken over, which is a person's word.
func (b *Broker) held(sid string, m inbox.Message) bool {
	received, _, err := b.ledgers(sid, "")
	if err != nil {
		return true // it is not lost, and c2c resume says why
	}
	if rows, err := b.readRegistry(); err == nil && findSID(rows, m.Held) < 0 {
		return false // its sender is gone, and nobody could name the pair
	}
	held := false
	for _, e := range received.entries {
		if e.from != m.Held {
			continue
		}
		if e.mark == resumeMark && e.at >= int64(m.TS*1000) {
			return false
		}
		held = held || e.mark == heldMark
	}
	return held
}

// tellStorm tells both agents and their people, once for each time that a pair is stopped.
func (b *Broker) tellStorm(ctx context.Context, to string, m inbox.Message) error {
	rows, err := b.rows(ctx)
	if err != nil {
		return err
	}
	i, j := findSID(rows, m.Held), findSID(rows, to)
	if i < 0 || j < 0 {
		return nil
	}
	mine, theirs, err := b.ledgers(m.Held, to)
	if err != nil {
		return err
	}
	one, two := min(m.Held, to), max(m.Held, to)
	since := strconv.FormatInt(exchanged(m.Held, to, mine.entries, theirs.entries).resumed, 10)
	a, c := rows[i].alias(), rows[j].alias()
	person := personPrefix + strconv.Itoa(os.Getuid())
	text := func(subject string) string {
		return fmt.Sprintf("%s have answered each other too often without a person, so c2c holds their mail. c2c resume %s %s hands it over and lets them go on.", subject, a, c)
	}
	var errs []error
	for _, n := range []struct{ sid, alias, text string }{
		{rows[i].sid(), a, text("You and " + c)}, {rows[j].sid(), c, text("You and " + a)}, {person, person, text(a + " and " + c)},
	} {
		id := noticeID("storm", one, two, since, n.sid)
		errs = append(errs, b.notify(ctx, n.sid, inbox.Message{To: n.alias, ID: id, Content: n.text}, "storm"))
	}
	return errors.Join(errs...)
}

// Resume lets two sessions go on that were stopped, or slowed. held says how many messages are handed over now.
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
	mine, theirs, err := b.ledgers(sids[0], sids[1])
	if err != nil {
		return 0, err
	}
	at := b.now().UnixMilli()
	for _, e := range exchanged(sids[0], sids[1], mine.entries, theirs.entries).entries { // the clock may have been set back since
		at = max(at, e.at)
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
		for _, m := range msgs {
			held, at = held+1, max(at, int64(m.TS*1000))
		}
	}
	for i, sid := range sids {
		if err := b.enter(sid, entry{at, resumeMark, 0, sids[1-i], "-"}); err != nil {
			return 0, err
		}
	}
	b.record(ctx, "resume", Note{"session_id", sids[0]}, Note{"with", sids[1]})
	for _, box := range boxes {
		if err := box.Stir(ctx); err != nil {
			return held, err
		}
	}
	return held, nil
}
