package inbox

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"c2c/inbox/mail"
)

// On a full disk a reader cannot write: neither the archive, nor the messages that are left of a file that it has partly handed
// over. A rename needs no space, so then the name of the file says which of its messages were read:
//
//	part-<positions>-<number>-<count>-<bytes>-<archived>-<unix ms>-<reader>.json
//
// The next reader that finds room archives these and writes the rest anew, under a name without positions. Until then they stand
// in the file and are handed over to nobody. A version that does not know such names passes the file over: it hands over none of its
// messages, and removes nothing.
const partPrefix = "part-"

// positions are those of messages in their file: from, behind, from, behind, and so on, ascending. The first message has position 0.
type positions []int

// positionsWhere gives those of n positions that match.
func positionsWhere(n int, match func(position int) bool) (p positions) {
	for i := range n {
		if match(i) == (len(p)%2 == 0) { // one begins or ends
			p = append(p, i)
		}
	}
	if len(p)%2 == 1 {
		p = append(p, n)
	}
	return p
}

func (p positions) has(position int) bool {
	i, begins := slices.BinarySearch(p, position)
	return (i%2 == 1) != begins
}

// count is how many there are.
func (p positions) count() (n int) {
	for i := 0; i < len(p); i += 2 {
		n += p[i+1] - p[i]
	}
	return n
}

func (p positions) String() string {
	var b strings.Builder
	for i, n := range p {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

func parsePositions(text string) (p positions, ok bool) {
	for word := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > maxField || len(p) > 0 && n <= p[len(p)-1] {
			return nil, false
		}
		p = append(p, n)
	}
	return p, len(p)%2 == 0
}

// splitRead takes what the file's name calls read out of its messages. The caller has just read these.
func (mf *mailFile) splitRead() {
	mf.total = len(mf.msgs)
	if len(mf.acked) == 0 {
		return
	}
	var waits []mail.Message
	for i, msg := range mf.msgs {
		if mf.acked.has(i) {
			mf.pending = append(mf.pending, msg)
		} else {
			waits = append(waits, msg)
		}
	}
	mf.msgs = waits
}

// asRead is the holder, for eachWaiting, of the messages that the file's name calls read.
func (mf *mailFile) asRead() *mailFile { return &mailFile{done: true, at: mf.at, by: mf.by} }

// archivePending archives what was read of the files before: the archive has it in the order of reading.
func (l *Lease) archivePending(ctx context.Context) error {
	for _, mf := range l.files {
		if err := l.box.archive.Append(ctx, mf.by, mf.pending, mf.archived); err != nil {
			return err
		}
		mf.pending = nil
	}
	return nil
}

// rename gives a file a changed name.
func (l *Lease) rename(mf *mailFile, change func(next *mailFile)) error {
	next := *mf
	change(&next)
	name, err := next.newName()
	if err == nil {
		err = l.dir.Rename(mf.name(), name)
	}
	if err == nil {
		*mf = next
	}
	return err
}

// markRead records in the files' names which messages were handed over. Files that were written anew, or removed, are passed
// over. If some messages of a file still wait, the caller must hold the lock of the mailbox.
func (l *Lease) markRead(handed func(mail.Message) bool) error {
	short := false
	for _, mf := range l.files {
		rest := slices.DeleteFunc(slices.Clone(mf.msgs), handed)
		if is, err := l.dir.IsFile(mf.name(), mf.file); err != nil {
			return err
		} else if !is || len(rest) == len(mf.msgs) {
			continue
		}
		waits := map[int]bool{}
		for _, msg := range rest {
			waits[msg.Position] = true
		}
		err := l.rename(mf, func(next *mailFile) {
			next.done, next.acked = len(rest) == 0, nil
			if !next.done {
				next.acked = positionsWhere(mf.total, func(i int) bool { return !waits[i] })
				short = next.shorten() || short
				next.count = mf.total - next.acked.count()
			}
		})
		if err != nil {
			return err
		}
	}
	if short {
		return errors.Join(errLongName, l.dir.Sync())
	}
	return l.dir.Sync()
}

// longestName is how long a file's name may be, in bytes.
const longestName = 255

var errLongName = errors.New("some of the mail was not marked as read, and is handed over again: the name of its file has no more room")

// shorten forgets the last of what the name calls read until the name is short enough. It says whether that was needed.
func (mf *mailFile) shorten() (needed bool) {
	for len(mf.name()) > longestName && len(mf.acked) > 0 {
		mf.acked, needed = mf.acked[:len(mf.acked)-2], true
	}
	return needed
}
