package broker

import (
	"context"
	"errors"
	"math"
	"time"

	"c2c/inbox"
)

// answeredWithin: a message that a reader writes to the asker so soon after reading the question counts as the answer, even if it
// does not say so. Models often write it with send.
const answeredWithin = 30 * time.Minute

// asker is a session that waits for answers.
type asker struct {
	debts   map[string][]owedKey        // by the id of the message
	debtors map[string]map[debtKey]bool // by session
	since   float64                     // what was sent before answers nothing
}

func (a *asker) add(sid string, d debt, now float64) {
	a.debts[d.ID] = append(a.debts[d.ID], owedKey{sid, d.key()})
	if a.debtors[sid] == nil {
		a.debtors[sid] = map[debtKey]bool{}
	}
	a.debtors[sid][d.key()] = true
	a.since = min(a.since, d.TS, now)
}

// answersTo finds the answers to records, by session, in the mailboxes of those who have asked. It reads each of these once.
func (b *Broker) answersTo(ctx context.Context, rows []row, bySession map[string][]debt) map[owedKey]inbox.Message {
	authors := b.authors(rows)
	askers := map[string]*asker{}
	for sid, debts := range bySession {
		for _, d := range debts {
			if w := authors.of(d.Message); w != nil && inbox.ValidName(w.sid()) {
				if askers[w.sid()] == nil {
					askers[w.sid()] = &asker{debts: map[string][]owedKey{}, debtors: map[string]map[debtKey]bool{}, since: math.MaxFloat64}
				}
				askers[w.sid()].add(sid, d, inbox.Seconds(b.now()))
			}
		}
	}
	answers := map[owedKey]inbox.Message{}
	for sid, a := range askers {
		plain := map[string][]inbox.Message{} // by the session that wrote them
		for _, m := range b.mayAnswer(ctx, authors, sid, a) {
			if m.InReplyTo == "" {
				if r := authors.of(m); r != nil && a.debtors[r.sid()] != nil {
					plain[r.sid()] = append(plain[r.sid()], m)
				}
				continue
			}
			for _, key := range a.debts[m.InReplyTo] {
				if authors.are(key.sid, m) {
					answers[key] = m
				}
			}
		}
		for debtor, msgs := range plain {
			b.plainAnswers(ctx, debtor, a.debtors[debtor], msgs, answers)
		}
	}
	return answers
}

// mayAnswer gives what may be answers, the newest first: what says so, and what a session that owes one has written without
// saying what it answers.
func (b *Broker) mayAnswer(ctx context.Context, authors authors, sid string, a *asker) (msgs []inbox.Message) {
	ids := map[string]bool{}
	for id := range a.debts {
		ids[id] = true
	}
	var names []string
	for debtor := range a.debtors {
		names = append(names, debtor)
		if i := findSID(authors.rows, debtor); i >= 0 {
			names = append(names, authors.names(b.session(authors.rows[i]))...)
		}
	}
	answers, sent := inbox.HoldsAnswer(ids), inbox.HoldsSender(names)
	since := a.since - (24 * time.Hour).Seconds() // a clock may have been wrong
	found, err := b.searchOne(ctx, sid, inbox.Query{
		Holds:   func(data []byte) bool { return answers(data) || sent(data) },
		MayBeOf: func(ts float64) bool { return ts >= since },
		Is:      func(m inbox.Message) bool { return isAnswer(m) && (ids[m.InReplyTo] || m.InReplyTo == "") }, Limit: math.MaxInt,
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		b.log.Warn("answers are not looked for", "session", sid, "err", err)
	}
	for _, f := range found {
		msgs = append(msgs, f.Message)
	}
	return msgs
}

// plainAnswers adds the answers that do not say what they answer, msgs being what the debtor wrote to the asker, the newest
// first.
func (b *Broker) plainAnswers(ctx context.Context, debtor string, debts map[debtKey]bool, msgs []inbox.Message, answers map[owedKey]inbox.Message) {
	open := map[string]bool{}
	for key := range debts {
		if _, is := answers[owedKey{debtor, key}]; !is {
			open[key.id] = true
		}
	}
	if len(open) == 0 {
		return
	}
	for key, at := range b.observed(ctx, debtor, open) {
		for _, m := range msgs { // the first one behind the reading remains
			if sent := m.Time(); debts[key] && open[key.id] && !sent.Before(at) && sent.Before(at.Add(answeredWithin)) {
				answers[owedKey{debtor, key}] = m
			}
		}
	}
}
