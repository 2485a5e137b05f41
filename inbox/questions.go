package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// Waiting says whether anything waits that no live reader has in its hands. It
// takes no lock, so a hook can afford it and a watcher does not wake itself.
func (r *row) Waiting() (some bool, err error) {
	if some, err := r.inboxWaits(); err != nil || some {
		return some, err
	}
	for mf, err := range r.numbered {
		some := false
		if err == nil && !mf.done {
			some, err = mf.isFree()
		}
		if err != nil || some {
			return some, err
		}
	}
	return false, nil
}

// TakenBy says whether a reader was the last one who had some of the mail that is not acknowledged.
func (r *row) TakenBy(reader string) (bool, error) {
	for mf, err := range r.numbered {
		if err != nil || mf.by == reader && !mf.done {
			return err == nil, err
		}
	}
	return false, nil
}

// inboxWaits says whether anything is in the inbox.
func (r *row) inboxWaits() (bool, error) {
	f, err := r.root.OpenHandle(r.inboxName(), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return f.Size() > int64(len("[]\n")), f.Close()
}

// Used says whether the mailbox holds anything at all, a live reader's mail included. It takes no lock.
func (r *row) Used() (some bool, err error) {
	if some, err := r.inboxWaits(); err != nil || some {
		return some, err
	}
	err = r.inLease(func(dir *atomicfile.Dir) error {
		names, err := dir.Names()
		some = len(names) > 0
		return err
	})
	return some, err
}

// Empty says, under the lock, whether the mailbox holds nothing: nothing waits,
// and no reader has anything in its hands. A name that is not ours is nothing.
func (r *row) Empty(ctx context.Context) (bool, error) {
	lk, err := r.lockToRead(ctx)
	if err != nil {
		return false, err
	}
	defer lk.Release()
	some, err := r.inboxWaits()
	if err != nil || some {
		return false, err
	}
	for mf, err := range r.numbered {
		if err != nil {
			return false, err
		}
		f, err := mf.open(os.O_RDONLY)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errForeign) {
			return false, nil
		}
	}
	return true, nil
}

// Stamp changes whenever the waiting mail changes. A watcher compares stamps, because its own look closes the lock file as a
// writer does.
type Stamp string

// Stamp takes no lock and reads no mail.
func (r *row) Stamp() (s Stamp, err error) {
	for _, name := range []string{r.inboxName(), r.LeaseName()} {
		info, err := r.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		s += Stamp(fmt.Sprintln(name, atomicfile.VersionOf(info)))
	}
	held, err := r.InHand()
	return s + Stamp(fmt.Sprint(held)), err
}

// InHand counts the messages that readers have in their hands. It takes no lock.
func (r *row) InHand() (count int, err error) {
	for mf, err := range r.numbered {
		if err != nil {
			return count, err
		}
		if mf.by == "" || mf.done {
			continue // in nobody's hands
		}
		free, err := mf.isFree()
		if err != nil {
			return count, err
		}
		if !free {
			count += mf.count
		}
	}
	return count, nil
}

// HoldsMail says whether the mailbox holds a message that c2c itself did not write, leased ones included. A file that cannot be
// read may have one. It takes no lock: messages only go from the inbox to the numbered files, so in this order none is missed.
func (r *row) HoldsMail() (some bool, err error) {
	if some, err := r.Used(); err != nil || !some {
		return some, err
	}
	file, err := r.root.ReadIf(r.inboxName())
	if err != nil {
		return false, err
	}
	if holdsMail(file) {
		return true, nil
	}
	err = r.inLease(func(dir *atomicfile.Dir) error {
		names, err := dir.Names()
		for _, name := range names {
			if mf, ok := parseMailFile(name); some || err != nil || ok && mf.done {
				continue
			}
			var file []byte
			if file, err = dir.Read(name); err == nil { // one that was renamed just now is in use
				some = holdsMail(file)
			}
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, atomicfile.ErrNotOurs) || errors.Is(err, atomicfile.ErrTooLarge) {
		return true, nil // something is there that is not ours to judge
	}
	return some, err
}

// holdsMail looks at the messages of a file, one at a time.
func holdsMail(file []byte) bool {
	if len(bytes.Trim(file, "[], \t\r\n")) == 0 {
		return false
	}
	if !bytes.Contains(file, []byte(`"`+mail.SystemAlias+`"`)) {
		return true // most mail: nothing has to be parsed
	}
	msgs, damaged := decode(file)
	for _, msg := range msgs {
		if !msg.IsNotice() {
			return true
		}
	}
	return damaged
}

// ForeignFiles says of each thing that has the name of a mail file why it is none of ours.
func (r *row) ForeignFiles() (found []error, err error) {
	for mf, err := range r.numbered {
		if err != nil {
			return found, err
		}
		if f, err := mf.open(os.O_RDONLY); err == nil {
			f.Close()
		} else if errors.Is(err, errForeign) {
			found = append(found, err)
		}
	}
	return found, nil
}
