package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/wake"
)

const (
	toolPollInbox = inbox.ByTool
	// tagDone marks the message by which an agent says that its task is done. It is no tag of the
	// message.
	tagDone  = "done"
	toAll    = "all" // every session that is alive
	maxFiles = 10    // how many files an answer may name
)

func init() {
	send := entry("send", (*toolCall).send,
		"Write to a session, #room or (rarely) all, or answer: in_reply_to without to. A post wakes only members that it names (@alias, not in code). More: look help.",
		str("to", "").or("to_alias", "alias"),
		str("content", "").must().or("text").filled(),
		str("in_reply_to", "Message id."),
		str("kind", "").oneOf(broker.Kinds()),
		str("tag", "").oneOf(append(broker.Tags(), tagDone)),
		str("answer_by", "20m: you are told if no answer came."),
		str("reason", "Why @all."),
		boolean("deferrable", "Wake nobody."),
		str("ttl", "").quiet(), str("tell_after", "").quiet(), boolean("ephemeral", "").quiet(), str("message_id", "").quiet(),
		str("chat_id", "").quiet(), list("files", "").atMost(maxFiles).quiet(), str("edits", "").quiet(),
		list("exclude_aliases", "").quiet(), boolean("done", "").quiet(), str("room_id", "").filled().quiet(), str("from_alias", "").quiet(),
	)
	add(send, send.old("reply", nil), send.old("send_all", map[string]any{"to": toAll}), send.old("send_room", nil))
	poll := entry(toolPollInbox, (*toolCall).pollInbox,
		"Take your waiting mail and the news of your rooms. Call again while more waits.",
		boolean("keep", "Only look."),
		sessionID(),
	)
	add(poll, poll.old("peek_inbox", map[string]any{"keep": true}))
}

// ackTime is how long an acknowledgement may wait for a lock.
const ackTime = 10 * time.Second

func (c *toolCall) message() mail.Message {
	return mail.Message{
		To: c.req.GetString("to", ""), Content: c.req.GetString("content", ""), ID: c.req.GetString("message_id", ""),
		Kind: c.req.GetString("kind", ""), Tag: c.req.GetString("tag", ""),
		InReplyTo:  c.req.GetString("in_reply_to", ""),
		Deferrable: c.req.GetBool("deferrable", false), Ephemeral: c.req.GetBool("ephemeral", false),
	}
}

var errNoReceiver = errors.New("send: it needs to, or in_reply_to for an answer; call list to see who is there")

// send writes to a session, to a room or to all. Without a receiver it answers a message; that may
// also be named by message_id, or by its chat_id if it is from outside.
func (c *toolCall) send(ctx context.Context) (any, error) {
	m := c.message()
	if room := c.req.GetString("room_id", ""); room != "" {
		m.To = "#" + withoutHash(room)
	}
	if m.To == "" && m.InReplyTo == "" {
		m.InReplyTo, m.ID = m.ID, ""
	}
	done := m.Tag == tagDone || c.req.GetBool("done", false)
	if m.Tag == tagDone {
		m.Tag = ""
	}
	if err := c.setTimes(&m); err != nil {
		return nil, err
	}
	if m.To == "" && m.InReplyTo == "" && c.req.GetString("chat_id", "") == "" {
		return nil, errNoReceiver
	}
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	r, err := c.sendFrom(ctx, s, m)
	if err == nil && done {
		if derr := owed.SaidDone(ctx, c.b.Registry, s, nil); derr != nil { // the message is sent: an error would make the model send it again
			r.Note = strings.TrimPrefix(r.Note+"; ", "; ") + "nobody is told that you are done: " + derr.Error()
		}
	}
	return r, err
}

// setTimes sets the times that the call gives.
func (c *toolCall) setTimes(m *mail.Message) error {
	now := time.Now()
	for _, t := range []struct {
		name string
		set  func(string) error
	}{
		{"answer_by", func(v string) error { return broker.SetAnswerBy(m, now, v) }},
		{"ttl", func(v string) error { return broker.SetTTL(m, now, v) }},
		{"tell_after", func(v string) error { return broker.SetTellAfter(m, v) }},
	} {
		if v := c.req.GetString(t.name, ""); v != "" {
			if err := t.set(v); err != nil {
				return fmt.Errorf("%s %q: %w", t.name, v, err)
			}
		}
	}
	return nil
}

func (c *toolCall) sendFrom(ctx context.Context, s sessions.Session, m mail.Message) (receipt, error) {
	alias, room, inRoom := strings.Cut(m.To, "#")
	answered, err := c.answered(ctx, s, m)
	if err != nil {
		return receipt{}, err
	}
	isAll := strings.EqualFold(m.To, toAll)
	draft := rooms.Draft{Room: room, To: alias, Message: m, Reason: c.req.GetString("reason", ""), Limit: rooms.LimitOf(c.Client.env)}
	if m.To == "" && mail.RoomOf(answered.To) != "" {
		inRoom = true
	}
	for _, only := range []struct {
		name, where string
		fits        bool
	}{
		{"reason", "for a room", inRoom}, {"exclude_aliases", `with to "all"`, isAll},
		{"files", "to answer a sender outside", m.To == "" && !inRoom}, {"edits", "to answer a sender outside", m.To == "" && !inRoom},
		{"chat_id", "to answer a sender outside", m.To == "" && !inRoom},
	} {
		if _, given := c.req.GetArguments()[only.name]; given && !only.fits {
			return receipt{}, fmt.Errorf("send: it takes %s only %s", only.name, only.where)
		}
	}
	switch {
	case inRoom && m.To == "":
		return postReceipt(rooms.ReplyToPost(ctx, c.b, s, answered, draft))
	case inRoom:
		return postReceipt(rooms.Publish(ctx, c.b, s, draft))
	case isAll:
		sent, not, err := c.b.SendAll(ctx, s, m, c.req.GetStringSlice("exclude_aliases", nil)...)
		return allReceipt(sent, not), err
	case m.To != "":
		return mailReceipt(c.b.Send(ctx, s, m))
	}
	return mailReceipt(c.sendAnswer(ctx, s, answered, m))
}

func (c *toolCall) sendAnswer(ctx context.Context, s sessions.Session, answered, m mail.Message) (r broker.Receipt, err error) {
	files, edits := c.req.GetStringSlice("files", nil), c.req.GetString("edits", "")
	if len(files) == 0 && edits == "" {
		return c.b.Reply(ctx, s, answered, m)
	}
	o := mail.Origin{Edits: edits}
	for _, path := range files {
		file, err := broker.FileOf(path)
		if err != nil {
			return r, err
		}
		o.Files = append(o.Files, file)
	}
	return c.b.ReplyExternal(ctx, s, answered, m, o)
}

// answered returns the message or the post that m answers. If m has a receiver, m need not be an
// answer, and package broker looks for the message.
func (c *toolCall) answered(ctx context.Context, s sessions.Session, m mail.Message) (answered mail.Message, err error) {
	id, chat := m.InReplyTo, c.req.GetString("chat_id", "")
	switch {
	case m.To != "":
		return answered, nil
	case id == "":
		return c.b.ReceivedInChat(ctx, s, chat)
	}
	answered, err = c.b.Received(ctx, s, id)
	if errors.Is(err, broker.ErrNoMessage) && s.Facts.InRooms {
		if post, perr := rooms.Received(c.b.Registry, s, id); perr == nil {
			return post, nil
		}
	}
	if o, ok := answered.Origin(); err == nil && chat != "" && (!ok || o.ChatID != chat) {
		return answered, fmt.Errorf("send: message %s has another chat_id than %q: give only one of in_reply_to and chat_id", mail.ShortID(answered.ID), chat)
	}
	return answered, err
}

// progress counts how many parts of a long message a conversation has got. It is in memory only:
// after a restart the session gets the message from its beginning.
type progress struct {
	conversation string // the client's id
	message      mail.Message
	had          int // number of parts that were written to the client
}

func (c *toolCall) progressOf(s sessions.Session) progress {
	v, _ := c.progress.Load(s.ID)
	if was, _ := v.(progress); was.conversation == s.ClientID() {
		return was
	}
	return progress{}
}

func (p progress) isWith(m mail.Message) bool {
	return p.had > 0 && p.message.ID == m.ID && p.message.From == m.From && p.message.Content == m.Content
}

// pollInbox hands over the messages that fit, and acknowledges them once the answer is written. It
// hands over a long message in parts, one part at each call. Between the calls the message waits
// like any other: it cannot get lost, and other readers can take it. It counts as read when the
// last part is written.
//
// With the argument keep it shows the waiting messages and leaves them waiting.
func (c *toolCall) pollInbox(ctx context.Context) (any, error) {
	c.handsMail = true
	if c.req.GetBool("keep", false) {
		return c.peekInbox(ctx)
	}
	s, box, err := c.mailbox(ctx)
	if err != nil {
		return nil, err
	}
	p, news := page{room: c.room()}, c.room()/4
	if s.Facts.InRooms {
		p.room -= news
	}
	l, err := box.Lease(ctx, toolPollInbox, int64(2*p.room))
	if err != nil {
		return nil, err
	}
	piece, err := c.fillMail(&p, s, l.Messages)
	if err != nil || p.count == 0 {
		res := p.result()
		if err = errors.Join(err, l.Release()); err == nil {
			addNews(c, ctx, s, res, news)
		}
		return res, err
	}
	c.ackOnWritten(ctx, s, toolPollInbox, l, p.count, piece)
	res := p.result(piece.sentence(len(l.Messages)-p.count, l.More))
	addNews(c, ctx, s, res, news)
	return res, nil
}

// ackOnWritten acknowledges the first n messages of a lease once the answer is written, and
// releases the others. If the client has not got the answer, or has got a part of a long message
// but not the last part, all of them wait again.
func (c *toolCall) ackOnWritten(ctx context.Context, s sessions.Session, by string, l *inbox.Lease, n int, piece part) {
	c.handsMail = true
	OnWritten(ctx, func(err error) {
		ctx, cancel := context.WithTimeout(context.Background(), ackTime)
		defer cancel()
		var failed error // if set, c2c will hand the mail over again
		switch {
		case err != nil:
			failed = l.Release() // the mail waits again
		case piece.N == piece.Of:
			if slices.ContainsFunc(l.Messages[:n], c.progressOf(s).isWith) {
				c.progress.Delete(s.ID)
			}
			failed = l.Ack(ctx, inbox.Handles(l.Messages[:n])...)
		default:
			c.progress.Store(s.ID, progress{s.ClientID(), l.Messages[0], piece.N})
			ring := wake.Ring{At: time.Now(), Method: by, Outcome: wake.InPart, Count: 1}.For(l.Messages[0])
			failed = errors.Join(l.Release(), c.b.Rang(ctx, s.ID, ring))
		}
		if failed != nil {
			c.logFailure(ctx, s.ID, by, failed)
		}
	})
}

// logFailure writes to broker.log why waiting mail was not handed over, or will be handed over
// again.
func (c *toolCall) logFailure(ctx context.Context, sid, by string, err error) {
	c.b.Events.Write(ctx, by, "session_id", sid, "error", err.Error())
}

// fillMail adds as many whole messages as fit, in order. If even the first is too long, it adds the
// next part of that message.
func (c *toolCall) fillMail(p *page, s sessions.Session, msgs []mail.Message) (piece part, err error) {
	for _, m := range msgs {
		m.GuardHops, m.GuardChain = 0, "" // a model has no use for these fields
		if one, err := ToJSON(m); err != nil || !p.add(one) {
			break
		}
	}
	if len(msgs) == 0 || p.count > 0 {
		return part{}, nil
	}
	all := Parts(msgs[0], p.room-len("[]"))
	next := 0
	if was := c.progressOf(s); was.isWith(msgs[0]) && was.had < len(all) {
		next = was.had
	}
	one, err := ToJSON(all[next])
	p.add(one)
	return all[next], err
}

// sentence says which part of a long message p is. It also says how many messages wait: n, or more
// than n if more is set.
func (p part) sentence(n int, more bool) (s string) {
	if p.Of > 1 {
		s = fmt.Sprintf("This is part %d of %d of one long message. ", p.N, p.Of)
	}
	if p.N < p.Of {
		s += "Call poll_inbox again for the next. "
	}
	if rest := mail.MoreWait(n, more); rest != "" {
		s += rest + ": call poll_inbox again."
	}
	return strings.TrimSpace(s)
}

func (c *toolCall) peekInbox(ctx context.Context) (any, error) {
	_, box, err := c.mailbox(ctx)
	if err != nil {
		return nil, err
	}
	msgs, err := box.Peek(ctx)
	if err != nil {
		return nil, err
	}
	return listing(c, msgs, 0, "messages were left out: call poll_inbox, which hands over all in turn.",
		func(m mail.Message) mail.Message { return m }, "A message that is marked as part 1 is cut: poll_inbox hands over the whole message.")
}
