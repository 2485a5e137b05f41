package owed

import (
	"context"
	"errors"
	"fmt"
	"math"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// asker has the questions of one session that waits for answers.
type asker struct {
	byID  map[string][]SessionKey // the questions by their ids
	alias map[SessionKey]string   // the alias that was asked
	since float64                 // messages before this time cannot be answers
}

// isAnswer reports whether a reply is the answer. A reply of another kind only announces the
// answer, or asks back; the answer is still owed.
func isAnswer(m mail.Message) bool {
	return m.Kind != "ack" && m.Kind != "status" && m.Kind != "question"
}

// AnswersTo finds the answers to the messages in bySession. This map has the records of each
// session that owes answers. An answer names its question (InReplyTo). AnswersTo searches the
// mailbox of each asker once. After an error it still searches the other mailboxes, and returns
// what it found there.
func AnswersTo(ctx context.Context, reg *sessions.Registry, authors *sessions.Authors, bySession map[string][]Record) (map[SessionKey]mail.Message, error) {
	askers := map[string]*asker{}
	for sid, records := range bySession {
		for _, d := range records {
			if w := authors.Of(d.Message); w != nil && mail.ValidName(w.SID()) {
				a := askers[w.SID()]
				if a == nil {
					a = &asker{map[string][]SessionKey{}, map[SessionKey]string{}, mail.Seconds(reg.Now())}
					askers[w.SID()] = a
				}
				key := SessionKey{sid, d.Key()}
				a.byID[d.ID], a.alias[key] = append(a.byID[d.ID], key), d.To
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
				if authors.IsReply(key.SID, a.alias[key], m) {
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
	found, err := reg.SearchOne(ctx, sid, inbox.Query{
		Holds:   mail.HoldsAnswer(ids),
		MayBeOf: func(ts float64) bool { return ts >= a.since },
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
