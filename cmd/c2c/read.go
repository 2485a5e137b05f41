package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/hooks"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

func (c *call) printMail(ctx context.Context, msgs []mail.Message) error {
	if c.json {
		_, err := c.stdout.Write(mail.Array(msgs))
		return err
	}
	c.printAll(ctx, msgs)
	return nil
}

// printAll prints messages: in plain form for a person (printLetter), otherwise in envelopes. Text
// without an envelope could mislead an agent.
func (c *call) printAll(ctx context.Context, msgs []mail.Message) {
	if len(msgs) == 0 {
		c.printf("(no messages)\n")
	}
	person := len(msgs) > 0 && c.forPerson(ctx)
	for i, m := range msgs {
		if !person {
			fmt.Fprintln(c.stdout, m.EnvelopeAt(time.Now()))
			continue
		}
		if i > 0 {
			c.printf("\n")
		}
		c.printLetter(m)
	}
}

// forPerson reports whether the answer is for a person: the command acts for the person, wherever
// the answer goes; or a person looks, at a terminal, at the mail of another session. A terminal
// alone proves nothing, because an agent's shell may have one, too.
func (c *call) forPerson(ctx context.Context) bool {
	isPerson := func(session string) bool {
		s, err := callers.Resolve(ctx, c.b.Registry, c.caller(session))
		return err == nil && s.State == sessions.Person
	}
	if isPerson(c.session) {
		return true
	}
	out, ok := c.stdout.(*answer).to.(*os.File)
	if !ok || c.session == "" {
		return false
	}
	info, err := out.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && isPerson("")
}

// mailbox returns the caller's session and mailbox.
func (c *call) mailbox(ctx context.Context) (s sessions.Session, m *inbox.Mailbox, err error) {
	err = c.limited(ctx, func(ctx context.Context) (err error) {
		s, err = c.acting(ctx)
		return err
	})
	if err == nil {
		m, err = c.b.Mailbox(s.ID)
	}
	return s, m, err
}

func pollInbox(c *call, f *cli.Flags) action {
	peek := f.Bool("peek")
	check := f.Bool("check")
	var wait cli.Wait
	f.Func("wait", wait.Set)
	return func(ctx context.Context) error {
		c.silent = *check
		if caller := c.caller(c.session); *check && caller.IsPerson() {
			_, err := callers.Resolve(ctx, c.b.Registry, caller)
			if errors.Is(err, sessions.ErrNoSession) && !errors.Is(err, sessions.ErrNoCaller) {
				return errNothing // a shell may run this at each prompt; that must not make a mailbox in each directory
			}
		}
		s, m, err := c.mailbox(ctx)
		if err == nil && wait.Given {
			err = c.await(ctx, m, wait)
		}
		if err != nil {
			return err
		}
		if *check {
			return c.limited(ctx, func(ctx context.Context) error { return c.check(ctx, s, m) })
		}
		return c.limited(ctx, func(ctx context.Context) error {
			if s.State == sessions.Person { // a person has no server that does this
				c.meetDeadlines(ctx)
			}
			if *peek {
				return c.peek(ctx, m)
			}
			if err := s.MayAct(); err != nil { // its model would never see the mail
				return cli.WithHint(err, "c2c peek-inbox --session-id "+s.Alias+" shows its mail, and leaves it there")
			}
			if err := c.b.HandOver(ctx, s, c.reader(ctx, s)); err != nil || !s.Facts.InRooms {
				return err
			}
			return showNews(ctx, c, s)
		})
	}
}

// maxCounted bounds how many bytes of waiting mail c2c reads in order to count the messages, or to
// offer their ids.
const maxCounted = 1 << 20

// check is poll-inbox --check. It returns errNothing if no mail waits. With --json it prints how
// many messages wait, and from whom.
func (c *call) check(ctx context.Context, s sessions.Session, m *inbox.Mailbox) error {
	some, err := m.Ready(ctx)
	if err != nil {
		return err
	}
	if c.getenv(client.ModEnv) != "" {
		if sessions.Uninstalled(c.getenv, s.Client, s.Process) {
			return errNothing
		}
		if err := c.b.SetMod(ctx, s); err != nil {
			fmt.Fprintf(c.stderr, "c2c: %v\n", err) // go on: only c2c doctor needs this record
		}
	}
	if c.json {
		msgs, err := m.Head(ctx, maxCounted)
		if err != nil {
			return err
		}
		w := waiting{Count: len(msgs), From: []string{}}
		if w.Watch, err = c.b.Locks.Watchable(m.LockName()); err != nil {
			return err
		}
		if len(msgs) > 0 {
			w.From = append(w.From, wake.NoticeOf(msgs).From...)
		}
		if err := c.show(w, nil); err != nil {
			return err
		}
	}
	if !some {
		return errNothing
	}
	return nil
}

// waiting is the answer of poll-inbox --check --json.
type waiting struct {
	Count int      `json:"count"`
	From  []string `json:"from"`  // aliases, at most a few
	Watch string   `json:"watch"` // a file whose modification time changes when mail comes
}

func (c *call) peek(ctx context.Context, m *inbox.Mailbox) error {
	msgs, err := m.Peek(ctx)
	if err != nil {
		return err
	}
	return c.printMail(ctx, msgs)
}

// reader makes a Reader for all waiting mail. If this process runs in a client's shell, the Reader
// takes only what the shell passes on.
func (c *call) reader(ctx context.Context, s sessions.Session) broker.Reader {
	ofSession := s.Client
	if c.session != "" {
		ofSession = "" // the caller has named the session, which may run elsewhere
	}
	room, line := c.shellRoom(ofSession)
	if s.Facts.InRooms {
		room -= min(maxNews, room/4)
	}
	limit := int64(math.MaxInt64)
	if room > 0 {
		limit = int64(4 * room)
	}
	return broker.Reader{By: inbox.ByCommand, Limit: limit, Render: func(msgs []mail.Message, more bool) (r broker.Rendered, err error) {
		var notes []string
		r.Write = func() error { return c.writeMail(notes) }
		if room == 0 || len(msgs) == 0 {
			for i := range msgs {
				r.Shown = append(r.Shown, i)
			}
			return r, c.printMail(ctx, msgs)
		}
		print := func(m mail.Message) string { return m.EnvelopeAt(time.Now()) }
		if c.json {
			print = func(m mail.Message) string { return string(m.AppendFields(nil, "{")) + "},\n" }
		}
		text, said := hooks.Shell(room, line, msgs, more, print)
		r.Shown, r.Announced = text.Shown, text.Announced
		if !c.json {
			_, err = c.stdout.Write(text.Output)
			return r, err
		}
		notes = said
		var whole []mail.Message
		for _, i := range text.Shown {
			whole = append(whole, msgs[i])
		}
		return r, c.printMail(ctx, whole)
	}}
}

// writeMail writes what was printed, and then notes of c2c for the model.
func (c *call) writeMail(notes []string) error {
	if err := c.flushDurably(); err != nil {
		return fmt.Errorf("%w; the mail waits again", err)
	}
	for _, note := range notes {
		fmt.Fprintf(c.stderr, "c2c: %s\n", note)
	}
	return nil
}

// history shows what was handed over to a session, with --sent what the session has sent, or with
// --dead the dead letters of all sessions.
func history(c *call, f *cli.Flags) action {
	limit, sent, dead := f.Int("limit"), f.Bool("sent"), f.Bool("dead")
	return func(ctx context.Context) error {
		most, err := newest(*limit)
		switch {
		case err != nil:
			return err
		case *dead && (*sent || c.session != ""):
			return fmt.Errorf("%w: --dead shows the dead letters of all sessions: leave out --sent and --session-id", errUsage)
		case *dead:
			return c.showDead(most)
		case *sent:
			return c.limited(ctx, func(ctx context.Context) error { return c.showSent(ctx, most) })
		}
		_, m, err := c.mailbox(ctx)
		if errors.Is(err, sessions.ErrNoSession) && c.session != "" { // the session is gone, but its archive stays
			if left, lerr := moves.LeftMailbox(c.b.Registry, c.session); lerr == nil {
				m, err = left, nil
			}
		}
		if err != nil {
			return err
		}
		found, err := m.Archive().History(ctx, most)
		if err != nil {
			return err
		}
		return c.show(append([]inbox.ArchiveRecord{}, found...), func() {
			msgs := make([]mail.Message, len(found))
			for i, h := range found {
				msgs[i] = h.Message
			}
			c.printAll(ctx, msgs)
		})
	}
}

func (c *call) showDead(limit int) error {
	dead, err := owed.DeadLetters(c.b.Registry)
	if err != nil {
		return err
	}
	dead = dead[max(0, len(dead)-limit):]
	return c.show(append([]owed.DeadLetter{}, dead...), func() {
		if len(dead) == 0 {
			c.printf("(no dead letters)\n")
		}
		for _, d := range dead {
			why := ""
			if d.Reason != "" {
				why = ": " + d.Reason
			}
			c.printf("# session %s%s\n", d.SessionID, why)
			fmt.Fprintln(c.stdout, d.Message.EnvelopeAt(time.Now()))
		}
	})
}
