package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// The mail that exists before a row is measured. Every root has the sessions amber, birch (the
// sender), cedar, dune and ebony.
const (
	nearlyFull = "19,400 waiting" // for cedar; c2c allows 20,000
	full       = "19,900 waiting"
	some       = "10,000 waiting" // for the session dune
	old        = "100,000 archived"
	long       = "60 MB archived" // for cedar
	crowd      = "392 sessions"
	pair       = "2 sessions"
)

const (
	archivedBody = 170 // 37 MB in 100,000 messages
	waitingBody  = 200
	atOnce       = 150 // about as many messages as fit into one file of a mailbox
	oldWord      = "xylophone"
)

// fill makes the mail of a template, in c2c's own format and with its own packages. It syncs once
// for many messages.
func (w *world) fill(template string) error {
	sessions := []string{"amber", "birch", "cedar", "dune", "ebony"}
	switch template {
	case pair:
		sessions = sessions[:2]
	case crowd:
		for i := range 392 - len(sessions) {
			sessions = append(sessions, fmt.Sprintf("s-%d", i))
		}
	}
	if err := os.MkdirAll(filepath.Dir(w.root), 0o700); err != nil {
		return err
	}
	for _, name := range sessions {
		if _, err := w.time(w.program("c2c"), "register", name, "--session-id", name); err != nil {
			return err
		}
	}
	// The hook makes the file from which the hook script learns where birch's mailbox is.
	if _, err := w.time(w.program("c2c"), "hook"); err != nil {
		return err
	}
	// birch has worked since it was last handed mail, so the hook script does not start c2c.
	if err := os.WriteFile(filepath.Join(w.root, inbox.CalmName("birch")), nil, 0o600); err != nil {
		return err
	}
	switch template {
	case nearlyFull:
		if err := w.store("cedar", 19_399, waitingBody); err != nil {
			return err
		}
		return w.store("cedar", 0, 0, w.named("newest", waitingBody))
	case full:
		return w.store("cedar", 19_900, waitingBody)
	case some:
		return w.store("dune", 10_000, waitingBody)
	case long:
		return w.archive("cedar", 60_000, 850, nil)
	case old:
		question := w.named("oldest", 100)
		question.Content += " " + oldWord
		answer := message(archivedBody)
		answer.InReplyTo = question.ID
		if err := w.archive("ebony", 100_000-4, archivedBody, []mail.Message{question, answer, answer, answer}); err != nil {
			return err
		}
		return w.store("cedar", 0, 0, w.named("newest", waitingBody))
	}
	return nil
}

func message(size int) mail.Message {
	return mail.Message{From: "birch", To: "somebody", Content: strings.Repeat("words ", size/6+1)[:size]}
}

// named returns a new message of this size. It records the message's id under the name what, so
// that rows can use the id.
func (w *world) named(what string, size int) mail.Message {
	m := message(size)
	m.ID = mail.NewID(time.Now())
	w.ids[what] = m.ID
	return m
}

// store puts n messages of this size into a mailbox, and then the messages in last.
func (w *world) store(sid string, n, size int, last ...mail.Message) error {
	return w.mailbox(sid, func(ctx context.Context, box *inbox.Mailbox) error {
		for ; n > 0; n -= atOnce {
			msgs := make([]mail.Message, min(n, atOnce))
			for i := range msgs {
				msgs[i] = message(size)
			}
			if _, err := box.Deliver(ctx, msgs...); err != nil {
				return err
			}
		}
		if last == nil {
			return nil
		}
		_, err := box.Deliver(ctx, last...)
		return err
	})
}

// archive puts the messages in first into the archive, and then n more of this size.
func (w *world) archive(sid string, n, size int, first []mail.Message) error {
	if first != nil {
		if err := w.store(sid, 0, 0, first...); err != nil {
			return err
		}
	}
	for ; n > 0; n -= 10_000 {
		if err := w.store(sid, min(n, 10_000), size); err != nil {
			return err
		}
		if err := w.mailbox(sid, func(ctx context.Context, box *inbox.Mailbox) error {
			l, err := box.Lease(ctx, "bench", math.MaxInt64)
			if err != nil {
				return err
			}
			handles := make([]string, len(l.Messages))
			for i, m := range l.Messages {
				handles[i] = m.Handle()
			}
			return l.Ack(ctx, handles...)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) mailbox(sid string, do func(context.Context, *inbox.Mailbox) error) error {
	dir, err := atomicfile.Open(w.root)
	if err != nil {
		return err
	}
	box, err := inbox.Open(dir, sid, inbox.Config{})
	if err == nil {
		err = do(context.Background(), box)
	}
	return errors.Join(err, dir.Close())
}
