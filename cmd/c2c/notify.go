package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/proc"
	"c2c/sessions"
)

// asking is one run of c2c notify.
type asking struct {
	*call
	by sessions.Session // the session that asks for notices
}

func notify(c *call, f *cli.Flags) action {
	when, bubble, wait, off := f.Text("when"), f.Bool("desktop"), f.Bool("wait"), f.Bool("off")
	return func(ctx context.Context) error {
		words, a := c.words, asking{call: c}
		if len(words) > 1 || len(words) == 1 && *when == "" && !*off || len(words) == 0 && (*when != "" || *off) {
			return fmt.Errorf("%w: give an alias and --when, an alias and --off, or no words to see the requests", errUsage)
		}
		if len(words) == 0 {
			return a.list(ctx)
		}
		caller := c.caller(c.session)
		var r owed.Request
		var now *owed.SessionNews
		asked := *bubble
		*bubble = asked || !*wait && caller.IsPerson() && caller.User.IsTyping()
		err := c.limited(ctx, func(ctx context.Context) (err error) {
			if a.by, err = c.b.Attach(ctx, caller); err != nil || *off {
				return err
			}
			if *bubble {
				err := proc.CheckDesktop(c.getenv)
				if *bubble = err == nil; asked && err != nil {
					fmt.Fprintf(c.stderr, "c2c: %v: the notice comes only as mail\n", err)
				}
			}
			r, now, err = owed.RequestNotice(ctx, c.b.Registry, a.by, words[0], *when, *bubble)
			return err
		})
		switch {
		case err != nil:
			return err
		case *off:
			return a.cancel(ctx, words[0])
		case now != nil:
			return a.tell(*now)
		case *wait:
			return a.await(ctx, r)
		}
		way := "as mail"
		if *bubble {
			way += " and on the desktop"
		}
		return a.answer(r, fmt.Sprintf("%s gets one notice, %s, when %s", a.by.Alias, way, awaited(r)))
	}
}

// awaited describes the event for which a request waits, such as "amber is idle".
func awaited(r owed.Request) string {
	if r.When == owed.SessionEnded {
		return r.Alias + " has ended"
	}
	return r.Alias + " is " + r.When
}

// answer prints v as JSON, or a line.
func (a asking) answer(v any, line string) error {
	return a.show(v, func() { a.printf("%s\n", line) })
}

func (a asking) tell(n owed.SessionNews) error { return a.answer(n, n.Text) }

func (a asking) list(ctx context.Context) error {
	all, err := owed.ListRequests(a.b.Registry)
	if err != nil {
		return err
	}
	return a.show(append([]owed.Request{}, all...), func() {
		for _, r := range all {
			a.printf("%s is told when %s, since %s\n", a.b.AliasOf(ctx, r.By), awaited(r), r.At.Local().Format(time.DateTime))
		}
		if len(all) == 0 {
			a.printf("(nobody waits for a notice)\n")
		}
	})
}

func (a asking) cancel(ctx context.Context, alias string) error {
	n, err := owed.CancelRequests(ctx, a.b.Registry, a.by, alias)
	if err != nil {
		return err
	}
	return a.answer(map[string]int{"cancelled": n}, fmt.Sprintf("no notice about %s any more", alias))
}

// await waits for the notice, takes it and prints it. If this process is killed, the notice comes
// as mail.
func (a asking) await(ctx context.Context, r owed.Request) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !a.json { // now that Ctrl-C withdraws the request
		fmt.Fprintf(a.stderr, "c2c: waiting until %s; Ctrl-C ends that\n", awaited(r))
	}
	checker := owed.NewRequestChecker(a.b.Registry, nil)
	err := untilChanges(ctx, func() ([]string, error) { return a.look(ctx, checker, r) })
	switch {
	case errors.Is(err, errTold):
		return nil
	case ctx.Err() != nil: // Ctrl-C
		brief, end := context.WithTimeout(context.WithoutCancel(ctx), sessions.KeepWait) // a suspended process may hold the lock
		defer end()
		err = owed.WithdrawRequest(brief, a.b.Registry, r)
	}
	return err
}

// errTold says that the notice was printed.
var errTold = errors.New("told")

// look checks the requests once, and returns the files to watch until the next look.
func (a asking) look(ctx context.Context, checker *owed.RequestChecker, r owed.Request) (files []string, err error) {
	waiting, err := checker.Check(ctx)
	if err != nil && !errors.Is(err, owed.ErrUnsent) {
		return nil, err
	}
	files = owed.RequestFiles(a.b.Registry, waiting)
	// A request is removed after its notice was sent. Look for the notice only after that: looking
	// takes the mailbox's lock.
	if slices.ContainsFunc(waiting, func(other owed.Request) bool { return other.ID == r.ID }) {
		return files, nil
	}
	told, coming, err := a.take(ctx, r)
	switch {
	case told:
		err = errors.Join(errTold, err)
	case err == nil && !coming:
		err = fmt.Errorf("c2c does not wait any more until %s: the request was cancelled", awaited(r))
	}
	return files, err
}

// take prints the notice if it has come, and acknowledges it. coming means that another reader of
// this session has the notice, but may still put it back.
func (a asking) take(ctx context.Context, r owed.Request) (told, coming bool, err error) {
	box, err := a.b.Mailbox(a.by.ID)
	if err != nil {
		return false, false, err
	}
	isNotice := func(m mail.Message) bool { return m.ID == r.NoticeID() && m.IsNotice() }
	l, err := box.LeaseOnly(ctx, inbox.ByNotify, isNotice)
	if err != nil {
		return false, false, err
	}
	if len(l.Messages) == 0 {
		if err := l.Release(); err != nil {
			return false, false, err
		}
		found, err := box.Find(ctx, r.NoticeID())
		if err != nil || len(found) == 0 || found[0].Where != inbox.Archived {
			return false, len(found) > 0, err
		}
		return true, false, a.tell(owed.SessionNews{Text: found[0].Message.Content}) // another reader of this session has taken it
	}
	if err := a.tell(owed.SessionNews{Text: l.Messages[0].Content}); err != nil {
		return false, false, errors.Join(err, l.Release())
	}
	return true, false, l.Ack(ctx, inbox.Handles(l.Messages)...)
}
