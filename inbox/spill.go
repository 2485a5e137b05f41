package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
)

// An old version (96fdd19) kept what did not fit the inbox in <sid>.spill.jsonl, one record a line:
//
//	{"message":{…},"n":N}
//
// Its readers moved that file into the lease directory, in the same format, and locked it as ours do:
//
//	<number>-<count>-<archived>-<unix ms>-<pid>-<reader>.jsonl
//
// It may still run, and do so again. All that it does with these files it does under the lock of the mailbox. We give them
// names of ours under the same lock, by one rename each: so a message is never in two places, wherever somebody is killed. decode
// reads the format.
const spillEnd = ".spill.jsonl"

func (r *row) spillName() string { return r.sid + spillEnd }

// Spills gives the sessions that have such a file, from the names in a root.
func Spills(names []string) (sids []string) {
	for _, name := range names {
		if sid, ok := strings.CutSuffix(name, spillEnd); ok && mail.ValidName(sid) {
			sids = append(sids, sid)
		}
	}
	slices.Sort(sids)
	return sids
}

// TakeSpill makes a numbered file of the mail that an old version kept beside a full inbox, and counts the messages. The mail in
// the inbox is older, so it becomes a numbered file, too, before it.
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
	if err := dir.Replace(name, file); err != nil { // it is read as it is
		m.log.Debug("mail of an old version keeps its format", "session", m.sid, "err", err)
	}
	m.notify()
	return len(msgs), nil
}

// rotateInbox makes a numbered file of what the inbox has, and gives the last number. The caller holds the lock.
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

// takeOldLeases gives a name of ours to the files in the lease directory that a dead reader of the old version had. The caller holds the
// lock. What cannot be taken stays.
func takeOldLeases(dir *atomicfile.Dir, names []string) []string {
	for i, name := range names {
		if stem, ok := strings.CutSuffix(name, ".jsonl"); ok {
			names[i] = takeOldLease(dir, name, stem)
		}
	}
	return names
}

// takeOldLease gives the name that the file has then.
func takeOldLease(dir *atomicfile.Dir, name, stem string) string {
	f, err := dir.Open(name, os.O_RDWR)
	if err != nil {
		return name
	}
	defer f.Close()
	free, err := filelock.TryFile(f)
	info, serr := f.Stat()
	if err != nil || serr != nil || !free {
		return name
	}
	next, ok := oldLeaseName(stem, info.Size())
	if !ok || dir.Rename(name, next) != nil { // it is gone when its reader has just acknowledged it
		return name
	}
	return next
}

// oldLeaseName is our name for a file of so many bytes that the old version has called <stem>.jsonl.
func oldLeaseName(stem string, bytes int64) (name string, ok bool) {
	rest, done := strings.CutPrefix(stem, donePrefix)
	part := strings.SplitN(rest, "-", 6)
	if len(part) != 6 {
		return "", false
	}
	name = strings.Join([]string{part[0], part[1], strconv.FormatInt(bytes, 10), part[2], part[3], part[5] + ".json"}, "-")
	if done {
		name = donePrefix + name
	}
	_, ok = parseMailFile(name)
	return name, ok
}

// isSpill says whether a file has the format of a spill.
func isSpill(file []byte) bool { return bytes.HasPrefix(file, []byte(`{"message":`)) }

// decodeSpill is decode for that format. Of a last line that a crash has torn nobody was told that it is stored.
func decodeSpill(file []byte) (msgs []mail.Message, damaged bool) {
	for line := range bytes.Lines(file) {
		var record struct {
			Message *mail.Message `json:"message"`
		}
		if line[len(line)-1] == '\n' && json.Unmarshal(line, &record) == nil && record.Message != nil {
			msgs = append(msgs, *record.Message)
		} else {
			damaged = damaged || len(bytes.TrimSpace(line)) > 0
		}
	}
	return msgs, damaged
}
