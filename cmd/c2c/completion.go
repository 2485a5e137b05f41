package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions/callers"
)

// completion prints the completion script for a shell.
func completion(c *call, _ *cli.Flags) action {
	return func(context.Context) error {
		script, ok := cli.CompletionScript(strings.Join(c.words, " "))
		if !ok {
			return fmt.Errorf("%w: for which shell? bash, zsh or fish", errUsage)
		}
		fmt.Fprint(c.stdout, script)
		return nil
	}
}

// completeVerb is the verb that the completion scripts call at each Tab.
const completeVerb = "__complete"

// complete answers completeVerb. It prints no error, because an error would get into the line that
// the person is typing.
func (a *app) complete(ctx context.Context, words []string) {
	choices, files := cli.Complete(words, func(kind string) []cli.Choice { return a.offer(ctx, kind) })
	fmt.Fprint(a.stdout, cli.Lines(choices, files))
}

// offerTime bounds the wait at a Tab. When the time is over, c2c offers the words that it has
// found.
const offerTime = 500 * time.Millisecond

// offer lists the aliases, the rooms or the message ids of the root, for the line that the person
// is typing. Other sessions chose these words, and a word might mean something to the shell.
// Therefore offer leaves out each word that does not have the form of an alias.
func (a *app) offer(ctx context.Context, kind string) (choices []cli.Choice) {
	b, err := a.open(true)
	if err != nil {
		return nil
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	switch kind {
	case "alias":
		choices = sessionList(ctx, b)
	case "room":
		choices = roomList(b)
	default:
		choices = messages(ctx, b, a.caller(""), kind == "received")
	}
	return slices.DeleteFunc(choices, func(c cli.Choice) bool { return mail.CheckAlias(c.Word) != nil })
}

func sessionList(ctx context.Context, b *broker.Broker) (choices []cli.Choice) {
	all, _ := b.Sessions(ctx)
	for _, s := range all {
		choices = append(choices, cli.Choice{Word: s.Alias, Says: mail.Visible(strings.TrimSpace(s.Client+" "+string(s.State)), "")})
	}
	return choices
}

func roomList(b *broker.Broker) (choices []cli.Choice) {
	names, _ := rooms.Store{Root: b.Dir()}.Names()
	for _, name := range names {
		choices = append(choices, cli.Choice{Word: name, Says: "a room"})
	}
	return choices
}

// messages offers the last messages that the caller has received. Unless onlyReceived is set, it
// also offers the last sent messages.
func messages(ctx context.Context, b *broker.Broker, caller callers.Caller, onlyReceived bool) (choices []cli.Choice) {
	const limit = 10
	add := func(m mail.Message, says string) {
		choices = append(choices, cli.Choice{Word: mail.ShortID(m.ID), Says: mail.Visible(says+": "+m.FirstWords(40), "")})
	}
	s, err := callers.Resolve(ctx, b.Registry, caller)
	if err != nil {
		return nil
	}
	if box, err := b.Mailbox(s.ID); err == nil {
		waiting, _ := box.Head(ctx, maxCounted)
		for _, m := range waiting[:min(len(waiting), limit)] {
			add(m, "from "+m.From)
		}
		read, _ := box.Archive().History(ctx, limit)
		for _, h := range read {
			add(h.Message, "from "+h.From)
		}
	}
	if onlyReceived {
		return choices
	}
	sent, _ := b.Outbox(ctx, s, limit)
	for _, m := range sent {
		add(m.Message, "to "+m.To)
	}
	return choices
}
