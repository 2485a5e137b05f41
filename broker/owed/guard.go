package owed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// The loop guard stops agents that only answer each other. It is a circuit breaker for a chain of
// messages, each sent because of the one before:
//
//   - closed while agents work: if a sender has worked since mail came to it, its message begins a
//     new count;
//   - open after too many messages (hops) without any work: the next answer in the chain is held;
//   - half-open when the chain was silent for guardPause: then the held message is handed over. If
//     work follows, the breaker is closed. If not, the answer to this message is held.
//
// Each message has its own count. Package sessions records the work of a session, in a file for
// each session.

// ErrTooManyAnswers says that agents have answered each other too often without any work, and that
// the message was not stored: another one is held already, or this one would expire while it is
// held.
var ErrTooManyAnswers = errors.New("too many answers")

const (
	defaultHops = 50
	// blindTimes multiplies the limit for a client that does not report tool calls: c2c cannot see
	// whether such an agent works.
	blindTimes = 10
	// guardPause is the silence that ends a chain: c2c assumes that in this time some agent has
	// worked or thought. It is also the time for which a message is held.
	guardPause = mail.LongestHold
	// mostHops is the highest count that c2c accepts in a stored message; it reads a higher one as
	// mostHops.
	mostHops = 1 << 20
)

// HopsVariable is the environment variable with the limit: how often agents may answer each other
// without any work. A value of 0 or less means no limit.
const HopsVariable = "C2C_STORM_HOPS"

// LimitOf reads the limit of a loop guard from a variable of the environment; negative: no limit. It
// returns 0 for a value that is not a number.
func LimitOf(getenv func(string) string, variable string) int {
	n, err := strconv.Atoi(strings.TrimSpace(getenv(variable)))
	if err == nil && n <= 0 {
		return -1
	}
	return n
}

// hopsFor returns the limit for a sender; w is the record of the sender's work.
func hopsFor(most int, w sessions.Work) int {
	if w.Tools {
		return most
	}
	return min(most, mostHops/blindTimes) * blindTimes
}

// Guard counts the message m, and holds it if its chain is open: it marks m as held, and the result
// note then tells the sender. After ErrTooManyAnswers the caller must not store the message. Guard
// does not count mail from or to a person. The argument most is the limit; 0: defaultHops; negative:
// none.
func Guard(ctx context.Context, reg *sessions.Registry, most int, from sessions.Session, to sessions.Row, box *inbox.Mailbox, m *mail.Message) (note string, err error) {
	m.Held, m.NotBefore, m.GuardHops, m.GuardChain = "", 0, 0, ""
	sid := to.SID()
	if most < 0 || sessions.IsPersonID(from.ID) || sessions.IsPersonID(sid) || !mail.ValidName(from.ID) {
		return "", nil
	}
	if sessions.IsCalm(reg, from.ID) {
		return "", nil // it has worked since it was last handed mail, so its message begins a chain
	}
	work := sessions.WorkOf(reg, from.ID)
	limit := hopsFor(cmp.Or(most, defaultHops), work)
	l, err := linkOf(reg, from, *m, work, limit)
	if err != nil || l.hops == 0 {
		return "", err
	}
	if l.hops > limit && !inChain(l, to, box) {
		return "", nil
	}
	m.GuardHops, m.GuardChain = float64(l.hops), chainOf(l.after)
	if l.hops <= limit || hadBefore(ctx, box, from, m.ID) { // do not hold a repeated message: it is not stored again
		return "", nil
	}
	return hold(ctx, reg, from, to, box, m)
}

// hold marks a message as held. It refuses the message if another one of the sender is held, or if
// the message would expire while it is held.
func hold(ctx context.Context, reg *sessions.Registry, from sessions.Session, to sessions.Row, box *inbox.Mailbox, m *mail.Message) (note string, err error) {
	now := reg.Now()
	why := fmt.Sprintf("you and %s have answered each other too often without any work in between", to.Alias())
	then := fmt.Sprintf("Work first, or tell your user: c2c resume %s %s lets you go on", from.Alias, to.Alias())
	held, err := HeldFrom(ctx, reg, from.ID, to.SID(), box)
	if err != nil {
		return "", err
	}
	if len(held) > 0 {
		wait := mail.FromSeconds(held[0].OpensAt()).Sub(now)
		return "", fmt.Errorf("%w: %s, and a message is held already for %s, so this one was not stored. %s", ErrTooManyAnswers, why, Span(wait), then)
	}
	opens := now.Add(guardPause)
	if m.ExpiresAt != 0 && m.ExpiresAt <= mail.Seconds(opens) {
		return "", fmt.Errorf("%w: %s, so it would be held for %s and expire before: it was not stored. %s", ErrTooManyAnswers, why, Span(guardPause), then)
	}
	if err := sessions.EndCalm(reg, to.SID()); err != nil { // its work lets the message go
		return "", err
	}
	m.Held, m.NotBefore = from.ID, mail.Seconds(opens)
	return fmt.Sprintf("it is stored and held for %s, until %s: %s. %s", Span(guardPause), opens.Format("15:04"), why, then), nil
}

// hadBefore reports whether the mailbox already had a message with this id from the same sender.
func hadBefore(ctx context.Context, box *inbox.Mailbox, from sessions.Session, id string) bool {
	if id == "" {
		return false
	}
	found, err := box.FindAll(ctx, id)
	return err == nil && slices.ContainsFunc(found, func(f inbox.Found) bool { return f.Message.FromSession == from.ID })
}

// HeldFrom returns those held messages in box that come from the session from; box is the mailbox
// of the session with the id to.
func HeldFrom(ctx context.Context, reg *sessions.Registry, from, to string, box *inbox.Mailbox) ([]mail.Message, error) {
	all, err := box.PeekAll(ctx)
	return slices.DeleteFunc(all, func(m mail.Message) bool { return m.Held != from || !sessions.IsHeld(reg, to, m) }), err
}

// OpensAt returns when a held-back message may be handed over; zero: it is not held back.
func OpensAt(reg *sessions.Registry, sid string, m mail.Message) time.Time {
	if !m.KeptBack(mail.Seconds(reg.Now())) || m.Held != "" && !sessions.IsHeld(reg, sid, m) {
		return time.Time{}
	}
	return mail.FromSeconds(m.OpensAt())
}

// TellHeld notifies the sender and the receiver of a held message, and their user, once for
// each chain.
func TellHeld(ctx context.Context, reg *sessions.Registry, to string, m mail.Message) error {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return err
	}
	i, j := sessions.FindSID(rows, m.Held), sessions.FindSID(rows, to)
	remote := sessions.IsHostID(to)
	if i < 0 || j < 0 && !remote {
		return nil
	}
	one, two := min(m.Held, to), max(m.Held, to)
	fromAlias, toAlias := rows[i].Alias(), m.To
	if !remote {
		toAlias = rows[j].Alias()
	}
	person := sessions.PersonPrefix + strconv.Itoa(os.Getuid())
	text := func(subject string) string {
		return fmt.Sprintf("%s have answered each other too often without any work in between, so c2c lets one message through every %s until somebody works. c2c resume %s %s lets them go on now.",
			subject, Span(guardPause), fromAlias, toAlias)
	}
	type told struct{ sid, alias, text string }
	notices := []told{
		{rows[i].SID(), fromAlias, text("You and " + toAlias)},
		{person, person, text(fromAlias + " and " + toAlias)},
	}
	if !remote { // a session on another machine gets no notice from here
		notices = append(notices, told{to, toAlias, text("You and " + fromAlias)})
	}
	var errs []error
	for _, n := range notices {
		id := NoticeID("storm", one, two, m.GuardChain, n.sid)
		errs = append(errs, SendNotice(ctx, reg, n.sid, mail.Message{To: n.alias, ID: id, Content: n.text}, "storm"))
	}
	return errors.Join(errs...)
}
