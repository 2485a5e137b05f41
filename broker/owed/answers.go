package owed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// asker has the questions of one session that waits for answers.
type asker struct {
	byID  map[string][]SessionKey // the questions by their ids
	since float64                 // messages before this time cannot be answers
}

// AnswersTo finds the answers to the messages in bySession. This map has the records of each session that owes answers. An answer names
// its question (InReplyTo). AnswersTo searches the mailbox of each asker once. After an error it still searches the other mailboxes, and
// returns what it found there.
func AnswersTo(ctx context.Context, reg *sessions.Registry, rows []sessions.Row, bySession map[string][]Record) (map[SessionKey]mail.Message, error) {
	authors := reg.Authors(rows)
	askers := map[string]*asker{}
	for sid, records := range bySession {
		for _, d := range records {
			if w := authors.Of(d.Message); w != nil && mail.ValidName(w.SID()) {
				a := askers[w.SID()]
				if a == nil {
					a = &asker{map[string][]SessionKey{}, mail.Seconds(reg.Now())}
					askers[w.SID()] = a
				}
				a.byID[d.ID] = append(a.byID[d.ID], SessionKey{sid, d.Key()})
				a.since = min(a.since, d.TS)
			}
		}
	}
	answers, errs := map[SessionKey]mail.Message{}, []error(nil)
	for sid, a := range askers {
		msgs, err := mayAnswer(ctx, reg, sid, a)
		errs = append(errs, err)
		for _, m := range msgs {
			for _, key := range a.byID[m.InReplyTo] {
				if authors.Wrote(key.SID, m) {
					answers[key] = m
				}
			}
		}
	}
	return answers, errors.Join(errs...)
}

// mayAnswer returns the messages to the asker that name one of the questions, newest first.
func mayAnswer(ctx context.Context, reg *sessions.Registry, sid string, a *asker) (msgs []mail.Message, err error) {
	ids := map[string]bool{}
	for id := range a.byID {
		ids[id] = true
	}
	since := a.since - (24 * time.Hour).Seconds() // one day earlier, because a clock may have been wrong
	found, err := reg.SearchOne(ctx, sid, inbox.Query{
		Holds:   mail.HoldsAnswer(ids),
		MayBeOf: func(ts float64) bool { return ts >= since },
		Match:   func(m mail.Message) bool { return ids[m.InReplyTo] && isAnswer(m) }, Limit: math.MaxInt,
	})
	if err != nil {
		return nil, fmt.Errorf("search the mailbox %s for answers: %w", sid, err)
	}
	for _, f := range found {
		msgs = append(msgs, f.Message)
	}
	return msgs, nil
}

// HasAnswer reports whether the session sid has got an answer from the alias to its question id. The answer may still wait, or be leased.
// Unlike AnswersTo, HasAnswer also finds the answers of a session that is gone.
func HasAnswer(ctx context.Context, reg *sessions.Registry, sid, id, alias string) (bool, error) {
	box, err := reg.Mailbox(sid)
	if err != nil {
		return false, err
	}
	found, err := box.Search(ctx, inbox.Query{
		Holds: sessions.Holds(id),
		Match: func(a mail.Message) bool {
			return a.InReplyTo == id && isAnswer(a) && sessions.Fold(a.From) == sessions.Fold(alias)
		}, Limit: 1,
	})
	return len(found) > 0, err
}

// OpenLook bounds how many messages of a mailbox are read to find unanswered questions, and how many to find earlier notices.
const OpenLook = 200
