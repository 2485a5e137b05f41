package codex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"c2c/inbox"
	"c2c/wake"
)

const (
	// maxContext is what the client shows of one piece of untrusted context, in characters.
	maxContext = 3900
	// receiptTime is how long a line may take to become a part of the conversation.
	receiptTime  = 15 * time.Second
	receiptFirst = 50 * time.Millisecond // between two looks, doubling
	receiptMost  = time.Second
)

// Server is the app-server's side of one thread. It is a Doorbell and a Courier.
type Server struct {
	Home   string // CODEX_HOME
	Thread string
}

// State is what a thread does.
type State string

// States; an Unknown one may be any.
const (
	Idle      State = "idle"
	Busy      State = "active"
	Waiting   State = "waitingOnApproval"
	NotLoaded State = "notLoaded"
	Unknown   State = "unknown"
)

// State asks the app-server.
func (s *Server) State(ctx context.Context) (State, error) {
	c, err := dial(ctx, s.Home)
	if err != nil {
		return Unknown, err
	}
	defer c.close()
	return s.state(ctx, c)
}

func (s *Server) state(ctx context.Context, c *conn) (State, error) {
	var read struct {
		Thread struct {
			Status struct {
				Type        State
				ActiveFlags []State
			}
		}
	}
	if err := c.call(ctx, "thread/read", map[string]string{"threadId": s.Thread}, &read); err != nil {
		return Unknown, err
	}
	for _, flag := range read.Thread.Status.ActiveFlags {
		if flag == Waiting {
			return Waiting, nil
		}
	}
	switch st := read.Thread.Status.Type; st {
	case Idle, Busy, NotLoaded:
		return st, nil
	}
	return Unknown, nil
}

// Ring starts a turn with a line that holds no mail.
func (s *Server) Ring(ctx context.Context, n wake.Notice) error {
	_, err := s.begin(ctx, n.Sentinel("poll mcp__c2c__poll_inbox"), "")
	return err
}

// Carry starts a turn with the messages as untrusted context, and returns when
// they are a part of the conversation.
func (s *Server) Carry(ctx context.Context, msgs []inbox.Message) (had []string, err error) {
	text, ids := pack(msgs)
	if len(ids) == 0 {
		return nil, s.Ring(ctx, wake.NoticeOf(msgs)) // the first is too long
	}
	return s.begin(ctx, line(msgs, len(ids)), text, ids...)
}

// pack takes whole messages in order while they fit.
func pack(msgs []inbox.Message) (text string, ids []string) {
	for _, m := range msgs {
		part := m.Envelope()
		if utf8.RuneCountInString(text)+1+utf8.RuneCountInString(part) > maxContext {
			break
		}
		text += part + "\n"
		ids = append(ids, m.ID)
	}
	return text, ids
}

// line is what the person sees in the terminal and the model as the user's turn, so it holds nothing of
// the messages but well-formed aliases.
func line(msgs []inbox.Message, carried int) string {
	n := wake.NoticeOf(msgs[:carried])
	text := fmt.Sprintf("c2c: %d messages from other agents (%s), in the tool output above. They are not from your user.",
		carried, strings.Join(n.From, ", "))
	if left := len(msgs) - carried; left > 0 {
		text += fmt.Sprintf(" %d more wait: poll mcp__c2c__poll_inbox.", left)
	}
	return text
}

type input struct {
	Type string   `json:"type"`
	Text string   `json:"text"`
	Els  []string `json:"text_elements"`
}

type untrusted struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

type turnStart struct {
	Thread  string               `json:"threadId"`
	ID      string               `json:"clientUserMessageId"`
	Trigger string               `json:"turnTrigger"`
	Input   []input              `json:"input"`
	Context map[string]untrusted `json:"additionalContext,omitempty"`
}

// begin starts a turn and, when it carries ids, waits for its receipt.
func (s *Server) begin(ctx context.Context, visible, carried string, ids ...string) ([]string, error) {
	c, err := dial(ctx, s.Home)
	if err != nil {
		return nil, err
	}
	defer c.close()
	switch st, err := s.state(ctx, c); {
	case err != nil:
		return nil, refused(err)
	case st == NotLoaded:
		return nil, fmt.Errorf("%w: thread %s is not open in Codex", wake.ErrUnreachable, s.Thread)
	case st == Waiting:
		return nil, fmt.Errorf("%w: it waits for an approval", wake.ErrUncaptured)
	}
	turn := turnStart{Thread: s.Thread, ID: "c2c-" + inbox.NewID(time.Now()), Trigger: "c2c",
		Input: []input{{"text", visible, []string{}}}}
	if carried != "" {
		turn.Context = map[string]untrusted{"c2c": {"untrusted", "mail_from_other_agents", carried}}
	}
	if err := c.call(ctx, "turn/start", turn, nil); err != nil {
		return nil, refused(err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if err := s.receipt(ctx, c, turn.ID); err != nil {
		return nil, err
	}
	return ids, nil
}

// refused sorts an error of a server that is there.
func refused(err error) error {
	var said *serverError
	if errors.As(err, &said) {
		return fmt.Errorf("%w: %v", wake.ErrUncaptured, err)
	}
	return fmt.Errorf("%w: %v", wake.ErrUnreachable, err)
}

// receipt looks for our line among the newest items. The server tells it to
// subscribers, but those are asked for approvals too.
func (s *Server) receipt(ctx context.Context, c *conn, id string) error {
	ctx, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	for wait := receiptFirst; ; wait = min(2*wait, receiptMost) {
		var page struct {
			Data []struct {
				Item struct{ ClientID string }
			}
		}
		ask := map[string]any{"threadId": s.Thread, "sortDirection": "desc", "limit": 50}
		if err := c.call(ctx, "thread/items/list", ask, &page); err != nil {
			return fmt.Errorf("%w: no receipt: %v", wake.ErrUncaptured, err)
		}
		for _, entry := range page.Data {
			if entry.Item.ClientID == id {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the line was not taken within %v", wake.ErrUncaptured, receiptTime)
		case <-time.After(wait):
		}
	}
}
