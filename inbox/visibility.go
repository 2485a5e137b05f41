package inbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// hides says whether a message is not handed over now. Other programs hand it over all the same.
func (m *Mailbox) hides(msg mail.Message) bool {
	if msg.InReplyTo != "" && m.awaited != nil && m.awaited(msg) {
		return true
	}
	if msg.ExpiresAt == 0 && msg.NotBefore == 0 && msg.Held == "" {
		return false
	}
	now := mail.Seconds(m.now())
	return msg.Expired(now) || msg.KeptBack(now) && (msg.Held == "" || m.held == nil || m.held(msg))
}

// Ready says whether anything waits that can be handed over now. Unlike Waiting it reads the mail, as a rule the first message
// alone.
func (m *Mailbox) Ready(ctx context.Context) (bool, error) {
	if m.firstIsReady() {
		return true, nil
	}
	msgs, err := m.Head(ctx, 1)
	return len(msgs) > 0, err
}

// firstIsReady looks at the oldest message of a file that no reader ever took. It takes no lock: a reader that takes the file
// now could as well do so a moment later.
func (m *Mailbox) firstIsReady() (ready bool) {
	err := m.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		if err != nil || len(files) == 0 || files[0].by != "" || files[0].done {
			return err
		}
		f, err := files[0].open(dir, os.O_RDONLY)
		if err != nil {
			return err
		}
		defer f.Close()
		first, err := firstOf(f, nil)
		ready = err == nil && !m.hides(first)
		return err
	})
	return ready && err == nil // else the slow look tells what is wrong
}

// Withdraw removes messages that the caller has stored elsewhere, and archives nothing. Messages that a live reader has leased,
// or has handed over meanwhile, stay.
func (m *Mailbox) Withdraw(ctx context.Context, msgs ...mail.Message) error {
	gone := map[mail.Key]bool{}
	for _, msg := range msgs {
		gone[msg.Key()] = true
	}
	lk, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lk.Release()
	err = m.inLease(func(dir *atomicfile.Dir) error { return m.withdrawLeased(ctx, dir, gone) })
	if err != nil {
		return err
	}
	file, err := m.root.ReadIf(m.inboxName())
	if err != nil {
		return err
	}
	waiting, damaged := decode(file)
	nameLegacy(waiting)
	before := len(waiting)
	if waiting = slices.DeleteFunc(waiting, func(msg mail.Message) bool { return gone[msg.Key()] }); len(waiting) == before {
		return m.root.Sync()
	}
	if damaged {
		if err := m.setAside(m.root, m.inboxName()); err != nil {
			return err
		}
	}
	return m.root.Replace(m.inboxName(), encode(waiting))
}

// withdrawLeased is Withdraw for the numbered files. The caller holds the lock of the mailbox.
func (m *Mailbox) withdrawLeased(ctx context.Context, dir *atomicfile.Dir, gone map[mail.Key]bool) error {
	files, err := mailFiles(dir)
	if err != nil {
		return err
	}
	is := func(msg mail.Message) bool { return gone[msg.Key()] }
	l := &Lease{box: m, dir: dir}
	for _, mf := range files {
		if mf.done {
			continue
		}
		free, err := m.load(dir, mf, true)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errForeign) || err == nil && !free {
			continue
		}
		if err != nil {
			return err
		}
		if slices.ContainsFunc(mf.msgs, is) {
			err = l.keepRest(ctx, mf, is)
		}
		if err := errors.Join(err, mf.file.Close()); err != nil {
			return err
		}
	}
	return dir.Sync()
}

// NotifyWatchers has those who watch the mailbox look again, when a message in it may be handed over from now on.
func (m *Mailbox) NotifyWatchers(ctx context.Context) error {
	lk, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lk.Release()
	err = m.root.Touch(m.inboxName(), m.now())
	if errors.Is(err, fs.ErrNotExist) { // it is in a numbered file
		err = m.inLease(func(dir *atomicfile.Dir) error { return m.root.Touch(m.LeaseName(), m.now()) })
	}
	m.notify()
	return err
}
