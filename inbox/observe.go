package inbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// What an Observer may see besides Waiting, Leased and Archived.
const (
	Gone    = "gone"    // in no file any more: an ephemeral message was read, or the message was moved or swept
	Damaged = "damaged" // a file is unreadable, or a part of it
)

// Step is a change in the state of a message since the previous look.
type Step struct {
	What        string // Waiting, Leased, Archived, Gone or Damaged
	At          time.Time
	By          string // the reader, if leased or archived
	Fingerprint mail.Fingerprint
	Message     mail.Message // has its content only if First
	First       bool         // no earlier look has seen the message
	Why         string       // the reason, if Damaged; then there is no message
}

// Observer follows what happens in a mailbox. It takes no lock and changes nothing, so no process
// waits for it or wakes because of it. It remembers sender and receiver of a waiting message, but
// not the text.
type Observer struct {
	m       *Mailbox
	files   map[atomicfile.Info]fileSeen // the files that the previous look has read
	waits   map[mail.Fingerprint]waiting
	place   int64           // the archive was read up to this place
	started bool            // place is set
	trouble map[string]bool // the damage that was reported
}

const tick = 100 * time.Millisecond // much longer than the clock tick of any system

type fileSeen struct {
	msgs    []waiting
	damaged bool
	sure    bool // it was read in a later tick than it was written, so the same version means the same content
}

type waiting struct {
	trace mail.Fingerprint
	msg   mail.Message // without content
	where string
	by    string
	at    time.Time
}

// Observe makes an Observer whose first look reports the mail that waits. If isNew is set, the
// first look also reports the mail in the archive.
func (m *Mailbox) Observe(isNew bool) *Observer { return &Observer{m: m, started: isNew} }

// Has reports whether the message waited in the mailbox at the last look.
func (o *Observer) Has(t mail.Fingerprint) bool {
	_, has := o.waits[t]
	return has
}

// Counts returns how many messages wait and when the oldest of them was sent, and how many messages
// readers have leased.
func (o *Observer) Counts() (queued, handed int, oldest time.Time) {
	for _, w := range o.waits {
		switch w.where {
		case Waiting:
			queued++
			if at := w.msg.Time(); oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
		case Leased:
			handed++
		}
	}
	return queued, handed, oldest
}

// look is the state of one call of Observer.Look.
type look struct {
	o       *Observer
	files   map[atomicfile.Info]fileSeen
	waits   map[mail.Fingerprint]waiting
	order   []mail.Fingerprint                // the order of waits
	fresh   map[mail.Fingerprint]mail.Message // the messages that no earlier look has seen waiting
	trouble map[string]bool
}

// Look returns what has happened since the previous look, in the order of the mailbox. After an
// error it may be called again.
func (o *Observer) Look() (steps []Step, err error) {
	l := &look{o: o, files: map[atomicfile.Info]fileSeen{}, waits: map[mail.Fingerprint]waiting{}, fresh: map[mail.Fingerprint]mail.Message{}, trouble: map[string]bool{}}
	if !o.started { // do this first, otherwise we would miss mail that is read meanwhile
		if o.place, err = o.m.archive.End(); err != nil {
			return nil, err
		}
	}
	// A message moves only from the inbox to a numbered file, and from there to the archive. We
	// look in the same order, so we miss no message.
	l.inbox()
	if err := l.leased(); err != nil {
		return nil, err
	}
	read, place, err := o.m.archive.Behind(o.place)
	if err != nil {
		return nil, err
	}
	steps = l.steps(read)
	o.files, o.waits, o.place, o.trouble, o.started = l.files, l.waits, place, l.trouble, true
	return steps, nil
}

// damaged records why a file cannot be read.
func (l *look) damaged(name string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.trouble[fmt.Sprintf("%s: %v", name, err)] = true
	}
}

func (l *look) inbox() {
	name := l.o.m.inboxName()
	f, err := l.o.m.root.OpenHandle(name, os.O_RDONLY)
	if err != nil {
		l.damaged(name, err)
		return
	}
	defer f.Close()
	seen, err := l.read(f)
	l.damaged(name, err)
	for _, w := range seen.msgs {
		l.add(w, Waiting, "", w.msg.Time())
	}
}

// The method read parses a file, unless the previous look has parsed the same version of it.
func (l *look) read(f *atomicfile.Handle) (_ fileSeen, err error) {
	id := f.Info
	seen := l.o.files[id]
	if !seen.sure {
		seen.sure = time.Since(f.ModTime()) > tick
		data, err := atomicfile.ReadAll(f, nil)
		if err != nil {
			return seen, err
		}
		seen.msgs, seen.damaged = l.decode(data)
	}
	l.files[id] = seen
	if seen.damaged {
		err = errDamaged
	}
	return seen, err
}

func (l *look) decode(data []byte) (seen []waiting, damaged bool) {
	msgs, damaged := decode(data)
	nameLegacy(msgs)
	for _, msg := range msgs {
		w := waiting{trace: msg.Fingerprint(), msg: msg}
		w.msg.Content, w.msg.Extra = "", nil
		seen = append(seen, w)
		if _, known := l.o.waits[w.trace]; !known {
			l.fresh[w.trace] = msg
		}
	}
	return seen, damaged
}

// add records where a message is. If several files have the message, the last of them counts.
func (l *look) add(w waiting, where, by string, at time.Time) {
	if _, there := l.waits[w.trace]; !there {
		l.order = append(l.order, w.trace)
	}
	w.where, w.by, w.at = where, by, at
	l.waits[w.trace] = w
}

// leased reads the numbered files. If one of them was renamed or removed before it was opened,
// leased lists all files again.
func (l *look) leased() error {
	for again, tries := true, 0; again && tries < 10; tries++ {
		again = false
		for mf, err := range l.o.m.numbered {
			if err != nil {
				return err
			}
			again = !l.leasedFile(mf) || again
		}
	}
	return nil
}

// leasedFile reads one numbered file. It returns false if the file is gone.
func (l *look) leasedFile(mf *mailFile) bool {
	f, err := mf.open(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	var seen fileSeen
	free := true
	if err == nil {
		defer f.Close()
		if free, err = atomicfile.FreeFile(f); err == nil {
			seen, err = l.read(f)
		}
	}
	l.damaged(mf.dir.Path()+"/"+mf.name(), err)
	for i, w := range seen.msgs {
		switch {
		case mf.done || i < mf.acked:
			l.add(w, Archived, mf.by, mf.at)
		case !free && mf.by != "":
			l.add(w, Leased, mf.by, mf.at)
		default:
			l.add(w, Waiting, "", w.msg.Time())
		}
	}
	return true
}

// steps returns the changes since the previous look. The argument read has the new records of the
// archive.
func (l *look) steps(read []ArchiveRecord) (steps []Step) {
	for what := range l.trouble {
		if !l.o.trouble[what] {
			steps = append(steps, Step{What: Damaged, Why: what})
		}
	}
	sort.Slice(steps, func(i, j int) bool { return steps[i].Why < steps[j].Why })
	told := map[mail.Fingerprint]bool{}
	for _, r := range read {
		t := r.Fingerprint()
		before, known := l.o.waits[t]
		if told[t] = true; before.where == Archived {
			continue
		}
		step := Step{What: Archived, At: mail.FromSeconds(r.DrainedAt), By: r.DrainedBy, Fingerprint: t, Message: r.Message, First: !known}
		if msg, fresh := l.fresh[t]; fresh {
			step.Message = msg // the archive does not keep the content of an ephemeral message
		}
		steps = append(steps, step)
	}
	steps = append(steps, l.gone(told)...)
	for _, t := range l.order {
		w, before := l.waits[t], l.o.waits[t]
		if told[t] || before.where == Archived { // the reader has not removed its file yet
			w.where = Archived
			l.waits[t] = w
			continue
		}
		if w.where == before.where && w.by == before.by {
			continue
		}
		step := Step{What: w.where, At: w.at, By: w.by, Fingerprint: t, Message: w.msg}
		if msg, fresh := l.fresh[t]; fresh {
			step.Message, step.First = msg, true
		}
		steps = append(steps, step)
	}
	return steps
}

// The method gone returns a step for each message that is neither in a file nor in the archive any
// more. Messages in told have their step already.
func (l *look) gone(told map[mail.Fingerprint]bool) (steps []Step) {
	for t, before := range l.o.waits {
		if _, there := l.waits[t]; !there && !told[t] && before.where != Archived {
			steps = append(steps, Step{What: Gone, By: before.by, Fingerprint: t, Message: before.msg})
		}
	}
	sort.Slice(steps, func(i, j int) bool { return steps[i].Message.TS < steps[j].Message.TS })
	return steps
}
