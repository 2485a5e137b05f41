package owed

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

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// A question that was read has left the mailbox, but its answer may still be due. So a message that
// asks for an answer (mail.Message.Owes), or that has the field answer_by, has a record beside the
// mailbox of the asked session:
//
//	owed/<sid>.jsonl    one line for each message, with the beginning of its content, or without content if it is ephemeral.
//	                    If the message asks for an answer, the field "obligation" has its state
//	owed/.closed.jsonl  such lines of obligations that are over, without content. They are only for lists and statistics, and
//	                    therefore not synced
//	owed/.closed.old    older lines
//
// The sender writes and syncs the record after the message. An answer moves the record to
// ClosedFile. A record that nobody has to answer any more is removed.
const (
	Directory = "owed"
	Suffix    = ".jsonl"
	owedCut   = 200 // bytes of content in a record
	// owedMax bounds a file of records, in bytes. It is enough for some ten thousand records.
	owedMax = 8 << 20

	ClosedFile = ".closed.jsonl" // the file of no session: an id cannot begin with a dot
	ClosedOld  = ".closed.old"
	closedLock = ".closed.lock" // held while the file is renamed
	closedMax  = 1 << 20

	termsField = "obligation"
)

// Record is a message to which an answer is due.
type Record struct {
	mail.Message
	terms
	line []byte // the line as it was read
}

// terms is the state of an obligation, in the record of a message that asks for an answer.
type terms struct {
	Surface    string    `json:"surface,omitempty"`
	Wakes      Wakes     `json:"wakes,omitzero"`
	Reminders  int       `json:"reminders,omitempty"`
	Reminder   string    `json:"reminder,omitempty"` // the id of the last reminder
	RemindedAt time.Time `json:"reminded_at,omitzero"`
	SenderTold bool      `json:"sender_told,omitempty"` // the sender got a notice that answer_by is over
	ObservedAt time.Time `json:"observed_at,omitzero"`
	AckedAt    time.Time `json:"acked_at,omitzero"`
	ClosedAt   time.Time `json:"closed_at,omitzero"`
	How        string    `json:"how,omitempty"`
	Reply      string    `json:"reply,omitempty"`
	Session    string    `json:"session_id,omitempty"` // the session that owed it; only in ClosedFile
}

// NewRecord makes the record of a message that was just stored.
func NewRecord(m mail.Message) Record {
	m.Content, m.Extra = strings.ToValidUTF8(m.Content[:min(len(m.Content), owedCut)], ""), nil
	if m.Ephemeral {
		m.Content = ""
	}
	return Record{Message: m}
}

// parseRecord parses a line; ok is false if it is none, such as the half line that a power cut
// left.
func parseRecord(line []byte) (d Record, ok bool) {
	d.line = line
	if json.Unmarshal(line, &d.Message) != nil {
		return d, false
	}
	for _, f := range d.Extra {
		if f.Name == termsField && json.Unmarshal(f.Value, &d.terms) != nil {
			d.terms = terms{}
		}
	}
	d.Extra = nil
	return d, true
}

// Format returns the line of a record.
func (d Record) Format() ([]byte, error) {
	m := d.Message
	if d.Owes() {
		value, err := json.Marshal(d.terms)
		if err != nil {
			return nil, err
		}
		m.Extra = []mail.Field{{Name: termsField, Value: value}}
	}
	line, err := m.MarshalJSON()
	return append(line, '\n'), err
}

// Key identifies a record of one session. An id alone is not enough: two senders may choose the
// same id.
type Key struct{ session, from, ID string }

func (d Record) Key() Key { return KeyOf(d.Message) }

func KeyOf(m mail.Message) Key { return Key{m.FromSession, sessions.Fold(m.From), m.ID} }

// ReadRecords reads the records of a session. It needs no lock, because a writer only replaces the
// file or adds a line. If a ring came before the sender wrote the record, the message has two
// lines; ReadRecords merges them into one record.
func ReadRecords(dir *atomicfile.Dir, sid string) (records []Record, err error) {
	data, err := dir.ReadIf(sid + Suffix)
	place := map[Key]int{}
	for line := range bytes.Lines(data) {
		d, ok := parseRecord(line)
		if !ok {
			continue
		}
		if i, there := place[d.Key()]; there {
			records[i].merge(d)
			continue
		}
		place[d.Key()] = len(records)
		records = append(records, d)
	}
	return records, err
}

// merge adds another line about the same message. The line of the sender has the surface; the line
// of a ringer counts rings. The two lines come in any order.
func (d *Record) merge(more Record) {
	d.line = append(bytes.Clone(d.line), more.line...)
	d.Surface = cmp.Or(more.Surface, d.Surface)
	d.Wakes.merge(more.Wakes)
}

// Sessions returns the sessions that have records.
func Sessions(dir *atomicfile.Dir) (sids []string, err error) {
	names, err := dir.Names()
	for _, name := range names {
		if sid, ok := strings.CutSuffix(name, Suffix); ok && mail.ValidName(sid) {
			sids = append(sids, sid)
		}
	}
	return sids, err
}

// errOwedFull says that the session's file of records is full. Its mail is still stored.
var errOwedFull = errors.New("too many messages wait for an answer of that session")

// AddRecords writes records of messages in a session's mailbox that the session must answer. If
// repeated is set, some of the records may exist already; AddRecords does not write these again.
func AddRecords(ctx context.Context, reg *sessions.Registry, sid string, repeated bool, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	dir, err := reg.Dir().Sub(Directory, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	return atomicfile.WithLock(ctx, dir, sid+".lock", func() error {
		info, err := dir.Stat(sid + Suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && info.Size() > owedMax {
			return errOwedFull
		}
		there := map[Key]bool{}
		if repeated {
			before, err := ReadRecords(dir, sid)
			if err != nil {
				return err
			}
			for _, d := range before {
				there[d.Key()] = true
			}
		}
		var lines []byte
		for _, d := range records {
			line, err := d.Format()
			if err != nil {
				return err
			}
			if !there[d.Key()] {
				lines = append(lines, line...)
			}
		}
		if len(lines) == 0 {
			return nil
		}
		return dir.AppendLines(sid+Suffix, lines)
	})
}

// awaitedHere reports whether this root tells the sender of m if no answer comes in time. The root of
// a sender elsewhere has a record of the message, too, and tells it.
func awaitedHere(m mail.Message) bool { return m.AnswerBy != 0 && sessions.RemoteRow(m.From) == nil }

// AddFor records the answer that a session owes for a message that was sent to it. If the message
// was sent again after it was answered, the session owes nothing for it.
func AddFor(ctx context.Context, reg *sessions.Registry, to sessions.Session, m mail.Message, repeated bool) error {
	if !awaitedHere(m) && !m.Owes() || !mail.ValidName(to.ID) {
		return nil
	}
	d := NewRecord(m)
	d.Surface = SurfaceOf(reg, to)
	if repeated && m.Owes() {
		rows, err := reg.Rows(ctx)
		if err != nil {
			return err
		}
		// After an error the record is added all the same: the checker looks for answers again.
		if answers, _ := AnswersTo(ctx, reg, reg.Authors(rows), map[string][]Record{to.ID: {d}}); len(answers) > 0 {
			return nil
		}
	}
	return AddRecords(ctx, reg, to.ID, repeated, d)
}

// ChangeRecords calls edit for each record of a session, under the lock of the records. If edit
// sets How, the obligation is over, and the record moves to ClosedFile. ChangeRecords writes
// ClosedFile first, so after a kill the record may be in both files. If edit returns drop,
// ChangeRecords removes the record and adds nothing to ClosedFile.
func ChangeRecords(ctx context.Context, reg *sessions.Registry, dir *atomicfile.Dir, sid string, edit func(*Record) (changed, drop bool)) error {
	var ended []Record
	err := atomicfile.WithLock(ctx, dir, sid+".lock", func() error {
		records, err := ReadRecords(dir, sid)
		if err != nil {
			return err
		}
		var kept, closed []byte
		edited := false
		for _, d := range records {
			changed, drop := edit(&d)
			line := d.line
			if edited = edited || changed || drop; changed && !drop {
				if d.How != "" {
					d.Session, d.Content = sid, "" // the archive keeps the content, for as long as its user wants
				}
				if line, err = d.Format(); err != nil {
					return err
				}
			}
			switch {
			case drop:
			case d.How != "":
				ended, closed = append(ended, d), append(closed, line...)
			default:
				kept = append(kept, line...)
			}
		}
		if !edited {
			return nil
		}
		KeepClosed(reg, dir, closed)
		if len(kept) == 0 {
			return dir.Remove(sid + Suffix)
		}
		return dir.Replace(sid+Suffix, kept)
	})
	if err != nil {
		return err
	}
	for _, d := range ended {
		reg.Events.Record(ctx, "obligation_closed", "session_id", sid, "message_id", d.ID, "kind", d.Kind, "how", d.How)
	}
	return nil
}

// KeepClosed adds lines to ClosedFile. They are only for lists and statistics, so it only logs
// errors.
func KeepClosed(reg *sessions.Registry, dir *atomicfile.Dir, lines []byte) {
	if len(lines) == 0 {
		return
	}
	err := dir.Log(ClosedFile, lines)
	if info, serr := dir.Stat(ClosedFile); err == nil && serr == nil && info.Size() >= closedMax {
		err = rotateClosed(dir)
	}
	if err != nil {
		reg.Log.Warn("a closed obligation is not counted", "err", err)
	}
}

func rotateClosed(dir *atomicfile.Dir) (err error) {
	lock, err := atomicfile.OpenLocked(dir, closedLock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if ok, err := lock.Try(); err != nil || !ok {
		return err
	}
	return atomicfile.Rotate(dir, ClosedFile, ClosedOld, closedMax) // Rotate checks the size again: another process may have just renamed the file
}

// closedRecords reads the closed records. After a kill the files may have a record twice; then the
// later one counts.
func closedRecords(dir *atomicfile.Dir) (all map[SessionKey]Record, err error) {
	all = map[SessionKey]Record{}
	for _, name := range []string{ClosedOld, ClosedFile} {
		data, rerr := dir.ReadIf(name)
		err = errors.Join(err, rerr)
		for line := range bytes.Lines(data) {
			if d, ok := parseRecord(line); ok && d.Owes() && d.How != "" {
				all[SessionKey{d.Session, d.Key()}] = d
			}
		}
	}
	return all, err
}

// AllRecords returns the open obligations by session. If withClosed is set, it also returns the
// closed ones. It returns each obligation once. Two kinds may have an open and a closed record: one
// that was answered just before a kill, and one that was closed without an answer and whose message
// came back. The first counts as closed, the second as open. AllRecords reads the closed records
// last, so that it does not miss an obligation that closes meanwhile. With an error, it still
// returns the obligations that it could read.
func AllRecords(dir *atomicfile.Dir, withClosed bool) (open map[string][]Record, closed map[SessionKey]Record, err error) {
	open = map[string][]Record{}
	sids, err := Sessions(dir)
	for _, sid := range sids {
		records, derr := ReadRecords(dir, sid)
		err = errors.Join(err, derr)
		open[sid] = slices.DeleteFunc(records, func(d Record) bool { return !d.Owes() })
	}
	if !withClosed {
		return open, nil, err
	}
	closed, cerr := closedRecords(dir)
	for sid, records := range open {
		open[sid] = slices.DeleteFunc(records, func(d Record) bool {
			key := SessionKey{sid, d.Key()}
			if closed[key].hasAnswer() {
				return true
			}
			delete(closed, key)
			return false
		})
	}
	return open, closed, errors.Join(err, cerr)
}

// If the session has records, withRecords calls f with their directory. Most sessions have none,
// and one stat shows that.
func withRecords(reg *sessions.Registry, sid string, f func(dir *atomicfile.Dir) error) error {
	if !mail.ValidName(sid) {
		return nil
	}
	dir, err := reg.SubIfThere(Directory)
	if err != nil || dir == nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.Stat(sid + Suffix); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return f(dir)
}

// CloseRecords closes those obligations of a session for which match returns true, without an
// answer. The argument how becomes their state.
func CloseRecords(ctx context.Context, reg *sessions.Registry, sid, how string, match func(mail.Message) bool) {
	err := withRecords(reg, sid, func(dir *atomicfile.Dir) error {
		return ChangeRecords(ctx, reg, dir, sid, func(d *Record) (changed, drop bool) {
			if !d.Owes() || !match(d.Message) { // a record with answer_by alone stays: its sender is notified at that time
				return false, false
			}
			d.How, d.ClosedAt = how, reg.Now().UTC()
			return true, false
		})
	})
	if err != nil {
		reg.Log.Warn("an obligation is not closed", "session", sid, "how", how, "err", err)
	}
}

// CloseMessages closes the obligations of a session for these messages, without an answer.
func CloseMessages(ctx context.Context, reg *sessions.Registry, sid, how string, msgs []mail.Message) {
	keys := map[Key]bool{}
	for _, m := range msgs {
		if m.Owes() {
			keys[KeyOf(m)] = true
		}
	}
	if len(keys) > 0 {
		CloseRecords(ctx, reg, sid, how, func(m mail.Message) bool { return keys[KeyOf(m)] })
	}
}

// AddMoved records the answers that a session owes for messages that came to it from the mailbox of
// another session, or from the dead letters.
func AddMoved(ctx context.Context, reg *sessions.Registry, sid string, msgs []mail.Message) {
	reg.Due.LookBy(reg.Now())
	var records []Record
	for _, m := range msgs {
		if awaitedHere(m) || m.Owes() {
			records = append(records, NewRecord(m))
		}
	}
	if len(records) == 0 {
		return
	}
	s := sessions.Session{ID: sid}
	if rows, err := reg.ReadRegistry(); err == nil { // not Rows, which may lock the registry
		if i := sessions.FindSID(rows, sid); i >= 0 {
			s = reg.Session(rows[i])
		}
	}
	surface := SurfaceOf(reg, s)
	for i := range records {
		records[i].Surface = surface
	}
	if err := AddRecords(ctx, reg, sid, true, records...); err != nil {
		reg.Log.Warn("the sender will get no notice if there is no answer", "session", sid, "err", err)
	}
}

// RecordAnswer closes the obligation of the session sid to answer the message that m answers. If m
// only announces an answer, RecordAnswer records the announcement.
func RecordAnswer(ctx context.Context, reg *sessions.Registry, sid string, to sessions.Row, m mail.Message) error {
	if m.InReplyTo == "" {
		return nil
	}
	return withRecords(reg, sid, func(dir *atomicfile.Dir) error {
		data, err := dir.ReadIf(sid + Suffix)
		if err != nil || !bytes.Contains(data, []byte(m.InReplyTo)) {
			return err
		}
		rows, err := reg.Rows(ctx)
		if err != nil {
			return err
		}
		authors := reg.Authors(rows)
		observed := Observed(ctx, reg, sid, map[string]bool{m.InReplyTo: true}) // before Change, because the mailbox must be locked before the records
		return ChangeRecords(ctx, reg, dir, sid, func(d *Record) (changed, drop bool) {
			if d.ID != m.InReplyTo || !d.Owes() || !authors.Wrote(to.SID(), d.Message) {
				return false, false
			}
			return d.Answered(m, observed[d.Key()]), false
		})
	})
}

// hasAnswer reports whether an answer has closed the record.
func (d Record) hasAnswer() bool { return d.How == Answered || d.How == Refused }

// Answered records an answer, or the announcement of one. A session that answers has read the
// message, even if nothing else shows it.
func (d *Record) Answered(m mail.Message, observed time.Time) (changed bool) {
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
