package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// An answer may be due after its message was read, when nothing in the mailbox tells of it any more. So a message that asks
// (inbox.Message.Owes), or has answer_by, has a record beside the mailbox of the session that is asked:
//
//	owed/<sid>.jsonl    a line each: the message, its content cut, or left out when it is ephemeral; of one that asks what has
//	                    become of it, in the field "obligation"
//	owed/.closed.jsonl  such lines of obligations that are over, without content, for c2c stats; nothing depends on them, and
//	                    they are not synced
//	owed/.closed.old    older ones
//
// The sender writes the record behind the message, and syncs it. A session that answers takes it out.
const (
	owedDir = "owed"
	owedEnd = ".jsonl"
	owedCut = 200 // bytes of the content
	// owedMax bounds a file of records, in bytes: some ten thousand of them.
	owedMax = 8 << 20

	closedFile = ".closed.jsonl" // no session has such an id
	closedOld  = ".closed.old"
	closedLock = ".closed.lock" // held while the file is renamed
	closedMax  = 1 << 20

	termsField = "obligation"
)

// debt is a record: a message that a session is to answer.
type debt struct {
	inbox.Message
	terms
	line []byte // as it was read
	half bool   // a power cut has left half of the line
}

// terms is what is recorded of a message that asks.
type terms struct {
	Surface    string    `json:"surface,omitempty"`
	Wakes      Wakes     `json:"wakes,omitzero"`
	Reminders  int       `json:"reminders,omitempty"`
	Reminder   string    `json:"reminder,omitempty"` // the id of the last one
	RemindedAt time.Time `json:"reminded_at,omitzero"`
	StaleAt    time.Time `json:"stale_at,omitzero"`     // since when it is seen to be overdue for too long
	SenderTold bool      `json:"sender_told,omitempty"` // that answer_by is over
	ObservedAt time.Time `json:"observed_at,omitzero"`
	AckedAt    time.Time `json:"acked_at,omitzero"`
	ClosedAt   time.Time `json:"closed_at,omitzero"`
	How        string    `json:"how,omitempty"`
	Reply      string    `json:"reply,omitempty"`
	Session    string    `json:"session_id,omitempty"` // who owed it; in closedFile alone
}

// newDebt is the record of a message that was just stored.
func newDebt(m inbox.Message) debt {
	m.Content, m.Extra = strings.ToValidUTF8(m.Content[:min(len(m.Content), owedCut)], ""), nil
	if m.Ephemeral {
		m.Content = ""
	}
	return debt{Message: m}
}

// parseDebt reads a line. The files are ours, but others may write there, too.
func parseDebt(line []byte) (d debt) {
	d.line = line
	if err := json.Unmarshal(line, &d.Message); err != nil {
		d.half = true
		return d
	}
	for _, f := range d.Extra {
		if f.Name == termsField && json.Unmarshal(f.Value, &d.terms) != nil {
			d.terms = terms{}
		}
	}
	d.Extra = nil
	return d
}

// format is the line of a debt.
func (d debt) format() ([]byte, error) {
	m := d.Message
	if d.Owes() {
		value, err := json.Marshal(d.terms)
		if err != nil {
			return nil, err
		}
		m.Extra = []inbox.Field{{Name: termsField, Value: value}}
	}
	line, err := m.MarshalJSON()
	return append(line, '\n'), err
}

// debtKey tells debts of one session apart: an id belongs to its sender.
type debtKey struct{ session, from, id string }

func (d debt) key() debtKey { return keyOf(d.Message) }

func keyOf(m inbox.Message) debtKey { return debtKey{m.FromSession, fold(m.From), m.ID} }

// readDebts reads the records of a session without a lock: who changes the file puts a new one in its place, and of a line that
// is being added half is passed over. Of a message that was rung for before its sender had written the record there are two
// lines, which are one record.
func readDebts(dir *atomicfile.Dir, sid string) (debts []debt, err error) {
	data, err := dir.ReadIf(sid + owedEnd)
	place := map[debtKey]int{}
	for line := range bytes.Lines(data) {
		d := parseDebt(line)
		if i, there := place[d.key()]; there && !d.half {
			debts[i].merge(d)
			continue
		}
		if !d.half {
			place[d.key()] = len(debts)
		}
		debts = append(debts, d)
	}
	return debts, err
}

// merge takes over what a further line knows: the sender's knows the surface, those of ringers what they did. They come in any order.
func (d *debt) merge(more debt) {
	d.line = append(bytes.Clone(d.line), more.line...)
	d.Surface = cmp.Or(more.Surface, d.Surface)
	d.Wakes.merge(more.Wakes)
}

// owedSessions gives the sessions that have records.
func owedSessions(dir *atomicfile.Dir) (sids []string, err error) {
	names, err := dir.Names()
	for _, name := range names {
		if sid, ok := strings.CutSuffix(name, owedEnd); ok && inbox.ValidName(sid) {
			sids = append(sids, sid)
		}
	}
	return sids, err
}

// errOwedFull: a session owes so much that no more is recorded. Its mail is stored all the same.
var errOwedFull = errors.New("too many messages wait for an answer of that session")

// owe records that a session is to answer messages that are stored in its mailbox. repeated says that the records may be there.
func (b *Broker) owe(ctx context.Context, sid string, repeated bool, debts ...debt) error {
	if len(debts) == 0 {
		return nil
	}
	dir, err := b.root.Sub(owedDir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	return filelock.With(ctx, dir, sid+".lock", func() error {
		info, err := dir.Stat(sid + owedEnd)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && info.Size() > owedMax {
			return errOwedFull
		}
		there := map[debtKey]bool{}
		if repeated {
			before, err := readDebts(dir, sid)
			if err != nil {
				return err
			}
			for _, d := range before {
				there[d.key()] = there[d.key()] || !d.half
			}
		}
		var lines []byte
		for _, d := range debts {
			line, err := d.format()
			if err != nil {
				return err
			}
			if !there[d.key()] {
				lines = append(lines, line...)
			}
		}
		if len(lines) == 0 {
			return nil
		}
		return dir.AppendLines(sid+owedEnd, lines)
	})
}

// oweFor records what a session owes for a message that was sent to it. One that is sent once more, and was answered, is over.
func (b *Broker) oweFor(ctx context.Context, to Session, m inbox.Message, repeated bool) error {
	if m.AnswerBy == 0 && !m.Owes() || !inbox.ValidName(to.ID) {
		return nil
	}
	d := newDebt(m)
	d.Surface = b.surfaceOf(to)
	if repeated && m.Owes() {
		rows, err := b.rows(ctx)
		if err != nil {
			return err
		}
		if len(b.answersTo(ctx, rows, map[string][]debt{to.ID: {d}})) > 0 {
			return nil
		}
	}
	return b.owe(ctx, to.ID, repeated, d)
}

// changeDebts lets edit change the records of a session, under their lock. A record that it gives a How is over: it goes into
// closedFile first, so that a kill in between costs a second line there. One that edit drops leaves the file alone.
func (b *Broker) changeDebts(ctx context.Context, dir *atomicfile.Dir, sid string, edit func(*debt) (changed, drop bool)) error {
	var over []debt
	err := filelock.With(ctx, dir, sid+".lock", func() error {
		debts, err := readDebts(dir, sid)
		if err != nil {
			return err
		}
		var kept, closed []byte
		any := false
		for _, d := range debts {
			changed, drop := false, false
			if !d.half {
				changed, drop = edit(&d)
			}
			line := d.line
			if any = any || changed || drop; changed && !drop {
				if d.How != "" {
					d.Session, d.Content = sid, "" // the archive keeps the words, as long as its person wants
				}
				if line, err = d.format(); err != nil {
					return err
				}
			}
			switch {
			case drop:
			case d.How != "":
				over, closed = append(over, d), append(closed, line...)
			default:
				kept = append(kept, line...)
			}
		}
		if !any {
			return nil
		}
		b.keepClosed(dir, closed)
		if len(kept) == 0 {
			return dir.Remove(sid + owedEnd)
		}
		return dir.Replace(sid+owedEnd, kept)
	})
	if err != nil {
		return err
	}
	for _, d := range over {
		b.record(ctx, "obligation_closed", Note{"session_id", sid}, Note{"message_id", d.ID}, Note{"kind", d.Kind}, Note{"how", d.How})
	}
	return nil
}

// keepClosed adds lines to what is over. It is for the statistics: an error stops nobody.
func (b *Broker) keepClosed(dir *atomicfile.Dir, lines []byte) {
	if len(lines) == 0 {
		return
	}
	err := dir.Log(closedFile, lines)
	if info, serr := dir.Stat(closedFile); err == nil && serr == nil && info.Size() > closedMax {
		err = turnClosed(dir)
	}
	if err != nil {
		b.log.Warn("an obligation that is over is not counted", "err", err)
	}
}

func turnClosed(dir *atomicfile.Dir) (err error) {
	lock, err := filelock.Open(dir, closedLock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if ok, err := lock.Try(); err != nil || !ok {
		return err
	}
	if info, err := dir.Stat(closedFile); err != nil || info.Size() <= closedMax {
		return err // another process has done it just now
	}
	return dir.Rename(closedFile, closedOld)
}

// closedDebts gives what is over. A kill may have left one twice: the later one counts.
func closedDebts(dir *atomicfile.Dir) (all map[owedKey]debt, err error) {
	all = map[owedKey]debt{}
	for _, name := range []string{closedOld, closedFile} {
		data, rerr := dir.ReadIf(name)
		err = errors.Join(err, rerr)
		for line := range bytes.Lines(data) {
			if d := parseDebt(line); !d.half && d.Owes() && slices.Contains(endings[:], d.How) {
				all[owedKey{d.Session, d.key()}] = d
			}
		}
	}
	return all, err
}

// allDebts gives by session what is owed, and if over says so what is over, each obligation once: a kill may have left the
// record of one that was answered, and one that ended otherwise is open again when its message has come back. What is over is
// read last, so that none is missed that ends meanwhile. With an error comes what could be read.
func allDebts(dir *atomicfile.Dir, over bool) (open map[string][]debt, closed map[owedKey]debt, err error) {
	open = map[string][]debt{}
	sids, err := owedSessions(dir)
	for _, sid := range sids {
		debts, derr := readDebts(dir, sid)
		err = errors.Join(err, derr)
		open[sid] = slices.DeleteFunc(debts, func(d debt) bool { return d.half || !d.Owes() })
	}
	if !over {
		return open, nil, err
	}
	closed, cerr := closedDebts(dir)
	for sid, debts := range open {
		open[sid] = slices.DeleteFunc(debts, func(d debt) bool {
			key := owedKey{sid, d.key()}
			if closed[key].hasAnswer() {
				return true
			}
			delete(closed, key)
			return false
		})
	}
	return open, closed, errors.Join(err, cerr)
}

// withDebts calls f for the directory if the session has records: most have none, and then this costs a look.
func (b *Broker) withDebts(sid string, f func(dir *atomicfile.Dir) error) error {
	if !inbox.ValidName(sid) {
		return nil
	}
	dir, err := b.subIfThere(owedDir)
	if err != nil || dir == nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.Stat(sid + owedEnd); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return f(dir)
}

// closeDebts ends obligations of a session without an answer: those of which is says yes, with a word for how.
func (b *Broker) closeDebts(ctx context.Context, sid, how string, is func(inbox.Message) bool) {
	err := b.withDebts(sid, func(dir *atomicfile.Dir) error {
		return b.changeDebts(ctx, dir, sid, func(d *debt) (changed, drop bool) {
			if !d.Owes() || !is(d.Message) { // of one with answer_by alone the sender is told in its time
				return false, false
			}
			d.How, d.ClosedAt = how, b.now().UTC()
			return true, false
		})
	})
	if err != nil {
		b.log.Warn("an obligation is not closed", "session", sid, "how", how, "err", err)
	}
}

// closeMessages ends the obligations of a session for some messages.
func (b *Broker) closeMessages(ctx context.Context, sid, how string, msgs []inbox.Message) {
	keys := map[debtKey]bool{}
	for _, m := range msgs {
		if m.Owes() {
			keys[keyOf(m)] = true
		}
	}
	if len(keys) > 0 {
		b.closeDebts(ctx, sid, how, func(m inbox.Message) bool { return keys[keyOf(m)] })
	}
}

// oweMoved records what a session owes for messages that came to it from the mailbox of another one, or back from the dead
// letters.
func (b *Broker) oweMoved(ctx context.Context, sid string, msgs []inbox.Message) {
	b.lookBy(b.now())
	var debts []debt
	for _, m := range msgs {
		if m.AnswerBy != 0 || m.Owes() {
			debts = append(debts, newDebt(m))
		}
	}
	if len(debts) == 0 {
		return
	}
	s := Session{ID: sid}
	if rows, err := b.readRegistry(); err == nil { // not rows, which may lock the registry
		if i := findSID(rows, sid); i >= 0 {
			s = b.session(rows[i])
		}
	}
	surface := b.surfaceOf(s)
	for i := range debts {
		debts[i].Surface = surface
	}
	if err := b.owe(ctx, sid, true, debts...); err != nil {
		b.log.Warn("nobody will be told when there is no answer", "session", sid, "err", err)
	}
}

// recordAnswer closes what a session owed for the message that m answers, or records that it has said something.
func (b *Broker) recordAnswer(ctx context.Context, sid string, to row, m inbox.Message) error {
	if m.InReplyTo == "" {
		return nil
	}
	return b.withDebts(sid, func(dir *atomicfile.Dir) error {
		data, err := dir.ReadIf(sid + owedEnd)
		if err != nil || !bytes.Contains(data, []byte(m.InReplyTo)) {
			return err
		}
		rows, err := b.rows(ctx)
		if err != nil {
			return err
		}
		authors := b.authors(rows)
		observed := b.observed(ctx, sid, map[string]bool{m.InReplyTo: true}) // its lock comes before that of the records
		return b.changeDebts(ctx, dir, sid, func(d *debt) (changed, drop bool) {
			if d.ID != m.InReplyTo || !d.Owes() || !authors.are(to.sid(), d.Message) {
				return false, false
			}
			return d.answered(m, observed[d.key()]), false
		})
	})
}

// isAnswer says whether a message is an answer that is wanted, and not the word that one will come.
func isAnswer(m inbox.Message) bool {
	switch m.Kind {
	case "ack", "status", "question", kindSystem:
		return false
	}
	return m.From != SystemAlias
}

// hasAnswer says whether a debt is over because an answer came.
func (d debt) hasAnswer() bool { return d.How == Answered || d.How == Refused }

// answered records an answer, or that one will come. Who answers has read the message, even if nothing else tells when.
func (d *debt) answered(m inbox.Message, observed time.Time) (changed bool) {
	at := m.Time().UTC()
	if d.ObservedAt.IsZero() {
		if observed.IsZero() || observed.After(at) {
			observed = at
		}
		d.ObservedAt = observed.UTC()
	}
	if !isAnswer(m) {
		if !d.AckedAt.IsZero() {
			return false
		}
		d.AckedAt = at
		return true
	}
	d.How, d.ClosedAt, d.Reply = Answered, at, m.ID
	if m.Tag == "fail" {
		d.How = Refused
	}
	if d.AckedAt.IsZero() {
		d.AckedAt = at
	}
	return true
}
