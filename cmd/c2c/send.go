package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"c2c/broker"
	"c2c/inbox"
)

// maxBody bounds what is read; the mailbox has the real limit and says so.
const maxBody = 1 << 20

// messageFlags are those of send and send-all.
type messageFlags struct {
	file, from             string
	urgent, blocking, fail bool
	message                inbox.Message
}

func (f *messageFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.file, "F", "", "read the body from this `file`")
	fs.StringVar(&f.from, "from", "", "send as this `session` or alias")
	fs.StringVar(&f.message.Kind, "kind", "", "`word` is message, question, task, review, status or ack")
	fs.BoolVar(&f.urgent, "urgent", false, "mark the message as urgent")
	fs.BoolVar(&f.blocking, "blocking", false, "mark the message as blocking the sender")
	fs.BoolVar(&f.fail, "fail", false, "mark the message as the report of a failure")
	fs.BoolVar(&f.message.Deferrable, "deferrable", false, "wake nobody; it is read at the next chance")
	fs.BoolVar(&f.message.Ephemeral, "ephemeral", false, "do not archive it once it was read")
}

// complete sets the tag and the body.
func (f *messageFlags) complete(c *call, words []string) (err error) {
	for tag, set := range map[string]bool{"urgent": f.urgent, "blocking": f.blocking, "fail": f.fail} {
		if set && f.message.Tag != "" {
			return fmt.Errorf("%w: only one of --urgent, --blocking and --fail", errUsage)
		}
		if set {
			f.message.Tag = tag
		}
	}
	f.message.Content, err = c.body(f.file, words)
	if err == nil && f.message.Content == "" {
		err = fmt.Errorf("%w: the body is empty", errUsage) // as when the command before a pipe has failed
	}
	return err
}

// send completes the message, however long its body takes to come, and gives do the sender.
func (f *messageFlags) send(ctx context.Context, c *call, words []string, do func(context.Context, broker.Session) error) error {
	if err := f.complete(c, words); err != nil {
		return err
	}
	return c.limited(ctx, func(ctx context.Context) error {
		from, err := c.attach(ctx, f.from)
		if err != nil {
			return err
		}
		return do(ctx, from)
	})
}

func (a *app) body(file string, words []string) (string, error) {
	var in io.Reader
	switch {
	case file != "" && len(words) > 0:
		return "", fmt.Errorf("%w: a body and -F: give one of them", errUsage)
	case file != "":
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("read body: %w", err)
		}
		defer f.Close()
		in = f
	case len(words) == 1 && words[0] == "-":
		in = a.stdin
	case len(words) > 0:
		return strings.Join(words, " "), nil
	default:
		return "", fmt.Errorf("%w: no body: give it as an argument, with -F file, or - for standard input", errUsage)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	if err == nil && len(data) > maxBody {
		err = fmt.Errorf("%w: more than %d bytes; put it into a file and send its path", inbox.ErrTooLarge, maxBody)
	}
	if err != nil {
		return "", fmt.Errorf("read body: %w", err)
	}
	return string(data), nil
}

func (a *app) printReceipt(r broker.Receipt) {
	note := ""
	switch {
	case r.Duplicate:
		note = "; it had been sent before"
	case r.Recipient == broker.Absent:
		note = "; " + r.To + " is absent, it waits"
	}
	a.printf("queued for %s as %s%s\n", r.To, inbox.ShortID(r.ID), note)
}

func send(c *call, fs *flag.FlagSet) action {
	var f messageFlags
	f.register(fs)
	fs.Func("id", "message `id` of your own: sending it again does no harm", func(id string) error {
		f.message.ID = id
		return broker.CheckID(id)
	})
	fs.StringVar(&f.message.InReplyTo, "reply-to", "", "`id` of the message that this one answers")
	return func(ctx context.Context) error {
		if len(c.words) == 0 {
			return fmt.Errorf("%w: to whom?", errUsage)
		}
		f.message.To = c.words[0]
		return f.send(ctx, c, c.words[1:], func(ctx context.Context, from broker.Session) error {
			r, err := c.b.Send(ctx, from, f.message)
			if err != nil {
				return err
			}
			return c.show(r, func() { c.printReceipt(r) })
		})
	}
}

func sendAll(c *call, fs *flag.FlagSet) action {
	var f messageFlags
	f.register(fs)
	return func(ctx context.Context) error {
		return f.send(ctx, c, c.words, func(ctx context.Context, from broker.Session) error {
			sent, skipped, err := c.b.SendAll(ctx, from, f.message)
			if err != nil && len(sent) == 0 {
				return err
			}
			told := c.show(map[string]any{"sent": append([]broker.Receipt{}, sent...), "skipped": append([]broker.Skipped{}, skipped...)}, func() {
				for _, r := range sent {
					c.printReceipt(r)
				}
				for _, s := range skipped {
					fmt.Fprintf(c.stderr, "c2c: not sent to %s: %s\n", inbox.Visible(s.Alias, ""), s.Reason)
				}
			})
			return errors.Join(err, told)
		})
	}
}
