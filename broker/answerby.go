package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// An answer may be due after its message was read, when nothing in the mailbox tells of it any more. So a message with
// answer_by has a record beside the mailbox: owed/<sid>.jsonl, the message on a line, its content cut, or left out when it is
// ephemeral. It is written by the sender, and dropped when the time is over.
const (
	owedDir = "owed"
	owedEnd = ".jsonl"
	owedCut = 200 // bytes of the content
)

// Unanswered is the reason when an answer has not come in time.
const Unanswered = "unanswered"

// owe records that a message that is stored in the mailbox of a session is to be answered.
func (b *Broker) owe(ctx context.Context, sid string, m inbox.Message) error {
	dir, err := b.root.Sub(owedDir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	m.Content, m.Extra = strings.ToValidUTF8(m.Content[:min(len(m.Content), owedCut)], ""), nil
	if m.Ephemeral {
		m.Content = ""
	}
	line, err := m.MarshalJSON()
	if err != nil {
		return err
	}
	line = append(line, '\n')
	return filelock.With(ctx, dir, sid+".lock", func() error {
		before, err := dir.ReadIf(sid + owedEnd)
		if err != nil || bytes.Contains(before, line) { // it was sent twice
			return err
		}
		return dir.AppendLines(sid+owedEnd, line)
	})
}

// answers tells the senders whose answer is late, and gives the time of the next answer that is due.
func (k *Keeper) answers(ctx context.Context, rows []row) (next time.Time, err error) {
	dir, err := k.b.subIfThere(owedDir)
	if err != nil || dir == nil {
		return next, err
	}
	defer dir.Close()
	names, err := dir.Names()
	var errs []error
	for _, name := range names {
		if sid, ok := strings.CutSuffix(name, owedEnd); ok {
			due, err := k.answersOf(ctx, rows, dir, sid)
			next, errs = earlier(next, due), append(errs, err)
		}
	}
	return next, errors.Join(append(errs, err)...)
}

// answersOf is answers for what one session is to answer. A sender is told before the record is dropped: a kill in
// between costs a second try.
func (k *Keeper) answersOf(ctx context.Context, rows []row, dir *atomicfile.Dir, sid string) (next time.Time, err error) {
	data, err := dir.ReadIf(sid + owedEnd)
	if err != nil {
		return next, err
	}
	over := map[string]bool{} // lines
	var errs []error          // one sender that cannot be told stops no other
	for line := range bytes.Lines(data) {
		var m inbox.Message
		if json.Unmarshal(line, &m) != nil {
			continue // a power cut has left half of it
		}
		if due := inbox.FromSeconds(m.AnswerBy); due.After(k.b.now()) {
			next = earlier(next, due)
			continue
		}
		if err := k.tellUnanswered(ctx, rows, m); err != nil {
			errs = append(errs, err)
			continue
		}
		over[string(line)] = true
	}
	if len(over) == 0 {
		return next, errors.Join(errs...)
	}
	err = filelock.With(ctx, dir, sid+".lock", func() error {
		data, err := dir.ReadIf(sid + owedEnd)
		if err != nil {
			return err
		}
		var kept []byte
		for line := range bytes.Lines(data) {
			if !over[string(line)] {
				kept = append(kept, line...)
			}
		}
		if len(kept) == 0 {
			return dir.Remove(sid + owedEnd)
		}
		return dir.Replace(sid+owedEnd, kept)
	})
	return next, errors.Join(append(errs, err)...)
}

func (k *Keeper) tellUnanswered(ctx context.Context, rows []row, m inbox.Message) error {
	to := k.b.senderOf(rows, m)
	if to == nil {
		return nil
	}
	if has, err := k.b.hasAnswer(ctx, to.sid(), m.ID, func(inbox.Message) bool { return true }); err != nil || has {
		return err
	}
	text := fmt.Sprintf("%s has not answered your message %s within %s; c2c status %s tells whether it was read.",
		m.To, what(m), span(inbox.FromSeconds(m.AnswerBy).Sub(m.Time())), inbox.ShortID(m.ID))
	return k.b.tell(ctx, rows, m, Unanswered, text)
}

// hasAnswer says whether a session has got an answer to a message of its own, from somebody of whom from says yes. What a
// reader has in hand counts, too.
func (b *Broker) hasAnswer(ctx context.Context, sid, id string, from func(inbox.Message) bool) (bool, error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return false, err
	}
	found, err := box.Search(ctx, inbox.Query{
		Holds: holds(id),
		Is:    func(a inbox.Message) bool { return a.InReplyTo == id && a.From != SystemAlias && from(a) }, Limit: 1,
	})
	return len(found) > 0, err
}
