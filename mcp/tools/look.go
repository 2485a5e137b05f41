package tools

import (
	"context"
	"fmt"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
)

func init() {
	look := onlyReads(entry("look", (*toolCall).look,
		"Look up rooms, posts of a room, mail that you had (history), the thread or status of a message, claims.",
		str("at", "").must().oneOf([]string{"rooms", "posts", "history", "thread", "status", "claims", "help"}),
		str("of", "Room or message id.").or("room_id", "message_id"),
		limit(),
		number("since", "").quiet(), boolean("mine", "").quiet(),
	))
	at := func(name, what string) Tool { return look.old(name, map[string]any{"at": what}) }
	add(look, at("history", "history"), at("thread", "thread"), at("message_status", "status"), at("claims", "claims"),
		at("list_rooms", "rooms"), look.old("my_rooms", map[string]any{"at": "rooms", "mine": true}), at("room_history", "posts"))
}

// help is what look shows of the rest.
const help = `send: at most 256 KiB, 64 KiB to a room. It also takes: ttl (2h: not handed over later; you are told), tell_after (2h, never: you are told if it is unread then; 30m by default), ephemeral (no copy in the archive), message_id (a UUID: the same one is stored once, to repeat a send that may have worked), exclude_aliases with to "all".
To answer mail from outside: chat_id instead of in_reply_to answers the newest of that chat; files (absolute paths) tells their size and SHA-256; edits names your earlier answer that this one replaces.
tag done: your task is done, and who waits for that is told. To say nothing in a room, post "pass": it is not stored.
status: queued (stored), rung (receiver woken), handed (shown to it), read (it has answered since), dead (undeliverable).
A receipt says what the receiver does: idle and busy ones read soon, waiting ones when their person has answered a dialog, absent and away ones when they are back.
me also takes unattended: mail wakes you although no terminal shows you. Only when your user asks.
In a shell: c2c help.`

func (c *toolCall) history(ctx context.Context) (any, error) {
	_, box, err := c.mailbox(ctx)
	if err != nil {
		return nil, err
	}
	found, err := box.Archive().History(ctx, c.limit())
	if err != nil {
		return nil, err
	}
	return listing(c, found, 0, "messages were left out: the command c2c history shows all.",
		func(h inbox.ArchiveRecord) mail.Message { return h.Message }, "A message that is marked as part 1 is cut: the command c2c history shows the whole message.")
}

// thread shows the newest messages of a conversation, as many as fit into an answer.
func (c *toolCall) thread(ctx context.Context) (any, error) {
	all, more, err := c.b.Thread(ctx, c.req.GetString("of", ""))
	if len(all) == 0 {
		return nil, err
	}
	if err != nil {
		c.Warn("a part of c2c's mail cannot be read: " + err.Error())
	}
	first := c.lastThatFit(len(all), func(i int) int {
		one, _ := ToJSON(all[i])
		return min(len(one), c.room()/2) // listing cuts a longer message
	})
	left := "older messages were left out: the command c2c thread shows all."
	if more {
		left = "or more messages were left out: the conversation is very long."
	}
	return listing(c, all[first:], first, left, func(m broker.Mail) mail.Message { return m.Message },
		"A message that is marked as part 1 is cut: the command c2c thread shows the whole message.")
}

// look shows what a model may want to know of others, of rooms and of messages.
func (c *toolCall) look(ctx context.Context) (any, error) {
	at, of := c.req.GetString("at", ""), c.req.GetString("of", "")
	switch at {
	case "help":
		return help, nil
	case "claims":
		return listClaims(c, ctx)
	case "history":
		return c.history(ctx)
	}
	if of == "" && at != "rooms" {
		what := "the id of the message"
		if at == "posts" {
			what = "the name of the room"
		}
		return nil, fmt.Errorf("look: at %s it needs of: %s", at, what)
	}
	switch at {
	case "thread":
		return c.thread(ctx)
	case "status":
		return c.b.Status(ctx, of)
	}
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	if at == "posts" {
		return roomPosts(c, s, withoutHash(of))
	}
	return listRooms(c, ctx, s, withoutHash(of), c.req.GetBool("mine", false))
}
