package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/wake/watch"
)

const (
	ToolAsk = "ask"
	// askWait is the default of the argument wait_seconds: clients made with the MCP SDK end a call
	// after 60 s. askMost limits the argument.
	askWait, askMost = 50, 600 // seconds
	// progressEvery is the default of Config.Progress: how often c2c notifies a client that a call
	// goes on. Some clients then restart the timeout of the call.
	progressEvery = 5 * time.Second
)

func init() {
	add(patiently(entry(ToolAsk, (*toolCall).ask,
		"Ask a session and wait for its answer; only if you cannot go on without it.",
		str("to", "").must().or("to_alias"),
		str("content", "").must().filled(),
		integer("wait_seconds").atLeast(1).atMost(askMost),
	)))
}

// ask sends a question and waits for the answer. Meanwhile the server answers other calls.
func (c *toolCall) ask(ctx context.Context) (any, error) {
	m := c.message()
	m.Kind = "question"
	var s sessions.Session
	var q *broker.Question
	wait := time.Duration(c.req.GetInt("wait_seconds", askWait)) * time.Second
	err := c.limited(ctx, func(ctx context.Context) (err error) {
		if s, err = c.attach(ctx); err == nil {
			q, err = c.b.Ask(ctx, s, m, wait)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	YieldTurn(ctx)
	res, err := c.askedAndWaited(ctx, s.ID, q, wait)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer cancel()
	if err := q.Close(end); err != nil {
		c.logFailure(end, s.ID, ToolAsk, err)
	}
	return res, err
}

// askedAndWaited waits for the answer to a sent question, and returns the result of ask. It does
// not wait for an absent session.
func (c *toolCall) askedAndWaited(ctx context.Context, sid string, q *broker.Question, wait time.Duration) (any, error) {
	if q.Recipient == sessions.Absent {
		return c.noAnswer(ctx, q, "ask waits for no absent session"), nil
	}
	a, err := c.await(ctx, q, wait)
	switch {
	case a != nil:
		return c.handAnswer(ctx, sid, q, a)
	case err == nil:
		err = fmt.Errorf("no answer in %d s", int(wait.Seconds()))
	}
	return c.noAnswer(ctx, q, err.Error()), nil
}

// await waits for the answer. If no answer comes within the time limit, it returns nil.
func (c *toolCall) await(ctx context.Context, q *broker.Question, limit time.Duration) (a *broker.Answer, err error) {
	file, err := q.Changed()
	if err != nil {
		return nil, err
	}
	changes := watch.NewChanges()
	defer changes.Close()
	brief, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer c.tellProgress(brief, q)()
	look := func() (bool, error) {
		err := c.limited(ctx, func(ctx context.Context) (err error) {
			a, err = q.Look(ctx)
			return err
		})
		return a != nil, err
	}
	if err = changes.Until(brief, file, look); a == nil && brief.Err() != nil && ctx.Err() == nil {
		_, err = look() // the answer may have come while this process was stopped
	}
	return a, err
}

// maxToken bounds a client's progress token, in bytes of JSON. Each notification carries the token,
// and over HTTP a stream keeps the newest notifications in memory.
const maxToken = 256

// tellProgress sends the client progress notifications until stop is called. It sends none if the
// client has not asked for them.
func (c *toolCall) tellProgress(ctx context.Context, q *broker.Question) (stop func()) {
	srv := server.ServerFromContext(ctx)
	if srv == nil || c.req.Params.Meta == nil || c.req.Params.Meta.ProgressToken == nil {
		return func() {}
	}
	if token, err := json.Marshal(c.req.Params.Meta.ProgressToken); err != nil || len(token) > maxToken {
		return func() {}
	}
	every := cmp.Or(c.Cfg.Progress, progressEvery)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{ // on an error the call goes on
				"progressToken": c.req.Params.Meta.ProgressToken, "progress": float64(n) * every.Seconds(),
				"message": "waiting for the answer of " + q.To,
			})
		}
	}()
	return func() { cancel(); <-done }
}

// handAnswer returns the answer as the tool's result. When the result is written, the answer counts
// as read. An answer that is too long for a result stays in the mailbox, and poll_inbox hands it
// over in parts.
func (c *toolCall) handAnswer(ctx context.Context, sid string, q *broker.Question, a *broker.Answer) (any, error) {
	text, err := ToJSON(a.Message)
	if err == nil && len(text) > c.room() {
		err = a.Ack(ctx, errors.New("too long"))
		return outcome{true, q.ID, q.To, "", "the answer is long: call poll_inbox, which hands it over in parts"}, err
	}
	if err != nil {
		return nil, errors.Join(err, a.Ack(ctx, err))
	}
	c.handsMail = true
	OnWritten(ctx, func(err error) {
		if err := a.Ack(ctx, err); err != nil {
			c.logFailure(context.WithoutCancel(ctx), sid, ToolAsk, err)
		}
	})
	return mcp.NewToolResultText(text), nil
}

// outcome is the result of ask when no answer came.
type outcome struct {
	Answered bool   `json:"answered"`
	ID       string `json:"message_id"` // the id of the question
	To       string `json:"to_alias"`
	State    string `json:"state,omitempty"` // the state of the question; empty if c2c cannot find it out
	Note     string `json:"note"`
}

// noAnswer returns the result of ask when no answer came. The result is never an error: the
// question was sent, and a model that sees an error would send it again.
func (c *toolCall) noAnswer(ctx context.Context, q *broker.Question, why string) outcome {
	state := ""
	c.limited(ctx, func(ctx context.Context) error {
		became := ""
		state, became = q.Became(ctx, "call poll_inbox")
		why = strings.TrimSuffix(why+"; "+became, "; ")
		return nil
	})
	note := why + "; a later answer comes as mail, with in_reply_to " + mail.ShortID(q.ID) + ". Go on with something else, and do not ask again"
	return outcome{false, q.ID, q.To, state, note}
}
