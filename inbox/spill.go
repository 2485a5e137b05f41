package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// If mail did not fit into the inbox, an old version (96fdd19) kept it in <sid>.spill.jsonl, one record per line:
//
//	{"message":{…},"n":N}
//
// Its readers moved that file into the lease directory, and locked it as ours do:
//
//	<number>-<count>-<archived>-<unix ms>-<pid>-<reader>.jsonl
//
// A process of the old version may still run, and write such files again. It touches them only under the lock of the mailbox. We rename
// each file to a name of ours under the same lock, so a message is never in two places, even after a kill. The function decode reads this
// format, too.
const spillEnd = ".spill.jsonl"

func (r *row) spillName() string { return r.sid + spillEnd }

// Spills returns the sessions that have a spill file. The argument names has the names of the files in a root.
func Spills(names []string) (sids []string) {
	for _, name := range names {
		if sid, ok := strings.CutSuffix(name, spillEnd); ok && mail.ValidName(sid) {
			sids = append(sids, sid)
		}
	}
	slices.Sort(sids)
	return sids
}

// TakeSpill turns the mail that an old version kept beside a full inbox into a numbered file, and returns the number of messages.
// The mail in the inbox is older, so TakeSpill first makes the inbox a numbered file.
func (m *Mailbox) TakeSpill(ctx context.Context) (n int, err error) {
	lk, err := m.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer lk.Release()
	data, err := m.root.ReadIf(m.spillName())
	if err != nil || data == nil {
		return 0, err
	}
	dir, err := m.root.Sub(m.LeaseName(), true)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	number, err := m.rotateInbox(dir)
	if err != nil {
		return 0, err
	}
	msgs, damaged := decode(data)
	if damaged {
		if err := m.setAside(m.root, m.spillName()); err != nil {
			return 0, err
		}
	}
	if len(msgs) == 0 {
		return 0, errors.Join(m.root.Remove(m.spillName()), m.root.Sync())
	}
	file := encode(msgs)
	name, err := mailFile{number: number + 1, count: len(msgs), bytes: int64(len(file))}.newName()
	if err == nil {
		err = m.root.Move(m.spillName(), dir, name)
	}
	if err = errors.Join(err, dir.Sync(), m.root.Sync()); err != nil {
		return 0, err
	}
	if err := dir.Replace(name, file); err != nil { // the readers can read the file as it is, too
		m.log.Debug("mail of an old version keeps its format", "session", m.sid, "err", err)
	}
	m.notify()
	return len(msgs), nil
}

// rotateInbox makes the inbox a numbered file, and returns the largest number in use. The caller holds the lock.
func (r *row) rotateInbox(dir *atomicfile.Dir) (number int, err error) {
	files, err := removeLeftovers(dir)
	if err != nil {
		return 0, err
	}
	for _, mf := range files {
		number = max(number, mf.number)
	}
	file, err := r.root.ReadIf(r.inboxName())
	if err != nil {
		return 0, err
	}
	if n, ok := count(file); n > 0 || !ok {
		number++
		err = r.rotate(dir, mailFile{number: number, count: n, bytes: int64(len(file))})
	}
	return number, err
}
