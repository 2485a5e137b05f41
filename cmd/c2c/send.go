package main

import (
	"context"
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

// letterFlags are those of send and send-all.
type letterFlags struct {
	file, from                   string
	urgent, blocking, fail, json bool
	letter                       broker.Letter
}

func (f *letterFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.file, "F", "", "read the body from this `file`")
	fs.StringVar(&f.from, "from", "", "send as this `session` or alias")
	fs.StringVar(&f.letter.Kind, "kind", "", "`word` is message, question, task, review, status or ack")
	fs.BoolVar(&f.urgent, "urgent", false, "mark the message as urgent")
	fs.BoolVar(&f.blocking, "blocking", false, "mark the message as blocking the sender")
	fs.BoolVar(&f.fail, "fail", false, "mark the message as the report of a failure")
	fs.BoolVar(&f.letter.Deferrable, "deferrable", false, "wake nobody; it is read at the next chance")
	fs.BoolVar(&f.letter.Ephemeral, "ephemeral", false, "do not archive it once it was read")
	fs.BoolVar(&f.json, "json", false, "print the receipt as JSON")
}

// complete sets the tag and the body.
func (f *letterFlags) complete(a *app, words []string) (err error) {
	for tag, set := range map[string]bool{"urgent": f.urgent, "blocking": f.blocking, "fail": f.fail} {
		if set && f.letter.Tag != "" {
			return fmt.Errorf("%w: only one of --urgent, --blocking and --fail", errUsage)
		}
		if set {
			f.letter.Tag = tag
		}
	}
	f.letter.Body, err = a.body(f.file, words)
	if err == nil && f.letter.Body == "" {
		err = fmt.Errorf("%w: the body is empty", errUsage) // as when the command before a pipe has failed
	}
	return err
}

// send gives do the broker and the sender, once the letter is complete.
func (f *letterFlags) send(ctx context.Context, a *app, words []string, do func(context.Context, *broker.Broker, broker.Session) error) error {
	if err := f.complete(a, words); err != nil {
		return err
	}
	return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
		from, err := a.session(ctx, b, f.from)
		if err != nil {
			return err
		}
		return do(ctx, b, from)
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
	a.printf("queued for %s as %s%s\n", r.To, r.ID, note)
}

func send(fs *flag.FlagSet) action {
	var f letterFlags
	f.register(fs)
	fs.Func("id", "message `id` of your own: sending it again does no harm", func(id string) error {
		f.letter.ID = id
		return broker.CheckID(id)
	})
	fs.StringVar(&f.letter.InReplyTo, "reply-to", "", "`id` of the message that this one answers")
	return func(ctx context.Context, a *app, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%w: to whom?", errUsage)
		}
		f.letter.To = args[0]
		return f.send(ctx, a, args[1:], func(ctx context.Context, b *broker.Broker, from broker.Session) error {
			r, err := b.Send(ctx, from, f.letter)
			if err != nil {
				return err
			}
			if f.json {
				return a.json(r)
			}
			a.printReceipt(r)
			return nil
		})
	}
}
