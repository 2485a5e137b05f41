package inbox

import (
	"bytes"
	"errors"
	"io/fs"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

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
