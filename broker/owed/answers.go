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
	"c2c/sessions/registry"
)

// Models often answer with send, and do not name the question. So if a session writes to the asker within answeredWithin after it has read
// the question, this message counts as the answer.
const answeredWithin = 30 * time.Minute

// asker has the questions of one session that waits for answers.
type asker struct {
	byID      map[string][]SessionKey // the questions by their ids
	bySession map[string]map[Key]bool // the questions by the session that owes the answer
	since     float64                 // messages before this time cannot be answers
}

func (a *asker) add(sid string, d Record, now float64) {
	a.byID[d.ID] = append(a.byID[d.ID], SessionKey{sid, d.Key()})
	if a.bySession[sid] == nil {
		a.bySession[sid] = map[Key]bool{}
	}
	a.bySession[sid][d.Key()] = true
	a.since = min(a.since, d.TS, now)
}

// AnswersTo finds the answers to the messages in bySession. This map has the records of each session that owes answers. AnswersTo searches
// the mailbox of each asker once. After an error it still searches the other mailboxes, and returns what it found there.
func AnswersTo(ctx context.Context, reg *sessions.Registry, rows []registry.Row, bySession map[string][]Record) (map[SessionKey]mail.Message, error) {
	authors := reg.Authors(rows)
	askers := map[string]*asker{}
	for sid, records := range bySession {
		for _, d := range records {
			if w := authors.Of(d.Message); w != nil && mail.ValidName(w.SID()) {
				if askers[w.SID()] == nil {
					askers[w.SID()] = &asker{byID: map[string][]SessionKey{}, bySession: map[string]map[Key]bool{}, since: math.MaxFloat64}
				}
				askers[w.SID()].add(sid, d, mail.Seconds(reg.Now()))
			}
		}
	}
	answers, errs := map[SessionKey]mail.Message{}, []error(nil)
	for sid, a := range askers {
		implicit := map[string][]mail.Message{} // by sender
		msgs, err := mayAnswer(ctx, reg, authors, sid, a)
		errs = append(errs, err)
		for _, m := range msgs {
			if m.InReplyTo == "" {
				if r := authors.Of(m); r != nil && a.bySession[r.SID()] != nil {
					implicit[r.SID()] = append(implicit[r.SID()], m)
				}
				continue
			}
			for _, key := range a.byID[m.InReplyTo] {
				if authors.Wrote(key.SID, m) && isBelieved(reg, rows, key.SID, m) {
					answers[key] = m
				}
			}
		}
		for answerer, msgs := range implicit {
			implicitAnswers(ctx, reg, answerer, a.bySession[answerer], msgs, answers)
		}
	}
	return answers, errors.Join(errs...)
}

// isBelieved reports whether a message counts as the word of the session sid, see sessions.Session.Believes.
func isBelieved(reg *sessions.Registry, rows []registry.Row, sid string, m mail.Message) bool {
	i := registry.FindSID(rows, sid)
	return m.KnownBy != mail.ByClaim || i < 0 || reg.Session(rows[i]).Believes(m.KnownBy)
}

// mayAnswer returns the messages to the asker that may be answers, newest first. They name one of the questions, or they name none and come
// from a session that owes an answer.
func mayAnswer(ctx context.Context, reg *sessions.Registry, authors sessions.Authors, sid string, a *asker) (msgs []mail.Message, err error) {
	ids := map[string]bool{}
	for id := range a.byID {
		ids[id] = true
	}
	var names []string
	for answerer := range a.bySession {
		names = append(names, answerer)
		if i := registry.FindSID(authors.Rows, answerer); i >= 0 {
			names = append(names, authors.Names(sessions.Session{Alias: authors.Rows[i].Alias(), Facts: reg.Facts.Of(answerer)})...)
		}
	}
	answers, sent := mail.HoldsAnswer(ids), mail.HoldsSender(names)
	since := a.since - (24 * time.Hour).Seconds() // one day earlier, because a clock may have been wrong
	found, err := reg.SearchOne(ctx, sid, inbox.Query{
		Holds:   func(data []byte) bool { return answers(data) || sent(data) },
		MayBeOf: func(ts float64) bool { return ts >= since },
		Match:   func(m mail.Message) bool { return isAnswer(m) && (ids[m.InReplyTo] || m.InReplyTo == "") }, Limit: math.MaxInt,
	})
	if err != nil {
		return nil, fmt.Errorf("search the mailbox %s for answers: %w", sid, err)
	}
	for _, f := range found {
		msgs = append(msgs, f.Message)
	}
	return msgs, nil
}

// implicitAnswers adds the answers of the session answerer that do not name their question. The argument msgs has all messages from
// answerer to the asker that name no question, newest first.
func implicitAnswers(ctx context.Context, reg *sessions.Registry, answerer string, records map[Key]bool, msgs []mail.Message, answers map[SessionKey]mail.Message) {
	open := map[string]bool{}
	for key := range records {
		if _, answered := answers[SessionKey{answerer, key}]; !answered {
			open[key.ID] = true
		}
	}
	if len(open) == 0 {
		return
	}
	for key, at := range Observed(ctx, reg, answerer, open) {
		for _, m := range msgs { // the newest comes first, so the last entry is the earliest one after the question was read
			if sent := m.Time(); records[key] && open[key.ID] && !sent.Before(at) && sent.Before(at.Add(answeredWithin)) {
				answers[SessionKey{answerer, key}] = m
			}
		}
	}
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
