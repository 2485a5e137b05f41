package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/broker"
)

// pollLimit bounds one answer of poll_inbox, in bytes of JSON: clients cut
// longer tool output, and what is cut would be lost.
const pollLimit = 40_000

// ackTime is how long an acknowledgement may wait for a lock.
const ackTime = 10 * time.Second

func letter(req mcp.CallToolRequest) broker.Letter {
	return broker.Letter{
		To:   req.GetString("to_alias", req.GetString("alias", "")),
		Body: req.GetString("content", ""), ID: req.GetString("message_id", ""),
		Kind: req.GetString("kind", ""), Tag: req.GetString("tag", ""),
		InReplyTo:  req.GetString("in_reply_to", ""),
		Deferrable: req.GetBool("deferrable", false), Ephemeral: req.GetBool("ephemeral", false),
	}
}

func (t *tools) send(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	l := letter(req)
	if l.To == "" {
		return nil, fmt.Errorf("to_alias is missing; call list to see who is there")
	}
	s, err := t.self(ctx, b, req)
	if err != nil {
		return nil, err
	}
	return b.Send(ctx, s, l)
}

func (t *tools) sendAll(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	s, err := t.self(ctx, b, req)
	if err != nil {
		return nil, err
	}
	sent, not, err := b.SendAll(ctx, s, letter(req), req.GetStringSlice("exclude_aliases", nil)...)
	if err != nil {
		return nil, err
	}
	to, ids := []string{}, map[string]string{}
	for _, r := range sent {
		to = append(to, r.To)
		ids[r.To] = r.ID
	}
	return map[string]any{"sent_to": to, "message_ids": ids, "skipped": append([]broker.Skipped{}, not...)}, nil
}

// pollInbox hands over what fits, and acknowledges it once the answer is written.
func (t *tools) pollInbox(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	box, err := t.mailbox(ctx, b, req)
	if err != nil {
		return nil, err
	}
	l, err := box.LeaseSome(ctx, toolPollInbox, 2*pollLimit)
	if err != nil {
		return nil, err
	}
	text, n, err := fit(l.Messages)
	if err != nil || n == 0 {
		l.Release()
		return text, err
	}
	var ids []string
	for _, m := range l.Messages[:n] {
		ids = append(ids, m.ID)
	}
	settle := func(err error) {
		if err != nil {
			l.Release() // the client has not got it: it waits again
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), ackTime)
		defer cancel()
		l.Ack(ctx, ids...) // what cannot be recorded is offered again
	}
	if !AfterWrite(ctx, settle) {
		l.Release()
		return nil, fmt.Errorf("this transport cannot tell when an answer was written; use c2c poll-inbox")
	}
	return partly(text, l.More || len(l.Messages) > n, "More messages wait: call poll_inbox again."), nil
}

// fit takes what fits into an answer, and at least one.
func fit[T any](all []T) (text string, n int, err error) {
	text = "["
	for _, v := range all {
		one, err := toJSON(v)
		if err != nil {
			return "", 0, err
		}
		if n > 0 {
			if len(text)+len(one) > pollLimit {
				break
			}
			text += ","
		}
		text += one
		n++
	}
	return text + "]", n, nil
}

// partly is an answer that says whether there is more.
func partly(text string, more bool, hint string) *mcp.CallToolResult {
	res := mcp.NewToolResultText(text)
	if more {
		res.Content = append(res.Content, mcp.NewTextContent(hint))
	}
	return res
}

func (t *tools) peekInbox(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	box, err := t.mailbox(ctx, b, req)
	if err != nil {
		return nil, err
	}
	msgs, err := box.Peek(ctx)
	if err != nil {
		return nil, err
	}
	text, n, err := fit(msgs)
	return partly(text, n < len(msgs), "More messages wait: call poll_inbox, and they come in turn."), err
}

func (t *tools) history(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	box, err := t.mailbox(ctx, b, req)
	if err != nil {
		return nil, err
	}
	found, err := box.History(ctx, req.GetInt("limit", 50))
	if err != nil {
		return nil, err
	}
	text, n, err := fit(found)
	return partly(text, n < len(found), "Older messages were left out: c2c history shows all."), err
}

func (t *tools) messageStatus(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	return b.Status(ctx, req.GetString("message_id", ""))
}
