package inbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Waiting reports whether there is mail that no live reader has leased. It takes no lock, so it is
// cheap enough for a hook, and a watcher that calls it does not wake itself.
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

// TakenBy reports whether this reader was the last to lease some mail that is not acked yet.
func (r *row) TakenBy(reader string) (bool, error) {
	for mf, err := range r.numbered {
		if err != nil || mf.by == reader && !mf.done {
			return err == nil, err
		}
	}
	return false, nil
}

// inboxWaits reports whether anything is in the inbox.
func (r *row) inboxWaits() (bool, error) {
	f, err := r.root.OpenHandle(r.inboxName(), os.O_RDONLY)
	if err != nil {
		return false, atomicfile.UnlessAbsent(err)
	}
	return f.Size() > int64(len("[]\n")), f.Close()
}

// Used reports whether the mailbox may hold any mail, leased mail included. Files with names that
// are not of ours do not count. It takes no lock.
func (r *row) Used() (some bool, err error) {
	if some, err := r.inboxWaits(); err != nil || some {
		return some, err
	}
	err = r.inLease(func(dir *atomicfile.Dir) error {
		names, err := dir.Names()
		some = slices.ContainsFunc(names, func(name string) bool {
			return strings.HasSuffix(name, ".json") || strings.HasPrefix(name, queuedPrefix) || atomicfile.IsTemp(name)
		})
		return err
	})
	return some, err
}

// Stamp changes whenever the waiting mail changes. A watcher compares stamps, because a closed lock
// file alone does not mean new mail: the watcher's own check closes this file, too.
type Stamp string

// Stamp returns the current stamp. It takes no lock and reads no mail.
func (r *row) Stamp() (s Stamp, err error) {
	for _, name := range []string{r.inboxName(), r.LeaseName()} {
		info, err := r.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		s += Stamp(fmt.Sprintln(name, info))
	}
	held, err := r.InHand()
	return s + Stamp(fmt.Sprint(held)), err
}

// InHand counts the messages that readers have leased. It takes no lock.
func (r *row) InHand() (count int, err error) {
	for mf, err := range r.numbered {
		free := true
		if err == nil && mf.by != "" && !mf.done { // else no reader has leased it
			free, err = mf.isFree()
		}
		if err != nil {
			return count, err
		}
		if !free {
			count += mf.count
		}
	}
	return count, nil
}

// HoldsMail reports whether the mailbox has a message that c2c itself did not write, leased
// messages included. It also returns true if a file is unreadable. It takes no lock. Messages move
// only from the inbox to the numbered files, so a look in this order misses none.
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
			if file, err = dir.Read(name); err == nil { // if a reader has just renamed the file, Read fails, and the answer is true
				some = holdsMail(file)
			}
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, atomicfile.ErrNotOurs) || errors.Is(err, atomicfile.ErrTooLarge) {
		return true, nil // we cannot judge what is there
	}
	return some, err
}

// holdsMail is HoldsMail for one file.
func holdsMail(file []byte) bool {
	if len(bytes.Trim(file, "[], \t\r\n")) == 0 {
		return false
	}
	if !bytes.Contains(file, []byte(`"`+mail.SystemAlias+`"`)) {
		return true // most mail: nothing to parse
	}
	msgs, damaged := decode(file)
	for _, msg := range msgs {
		if !msg.IsNotice() {
			return true
		}
	}
	return damaged
}
