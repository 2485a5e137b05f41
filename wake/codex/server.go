package codex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/wake"
)

const (
	// maxContext is how many bytes Codex passes on to its model from one piece of untrusted
	// context. Codex counts bytes in all languages.
	maxContext = 4000
	// receiptTime is how long Codex may keep our line waiting, for example behind a long command.
	// If c2c stops waiting and Codex takes the line later, the mail comes twice.
	receiptTime = 10 * time.Minute
	// receiptFirst is the first time between two checks for the receipt. The time doubles, up to
	// receiptMost times receiptFirst.
	receiptFirst = 50 * time.Millisecond
	receiptMost  = 20
	// lostLooks: if so many checks in a row find an idle thread without our line, the line counts
	// as lost. One check is not enough, because a requested turn takes a moment to begin.
	lostLooks = 8
	// receiptPage is how many of the newest items a check reads. This is enough, because a turn
	// adds only a few items in a second.
	receiptPage = 20
)

// Server is one thread of the app-server. It is a Doorbell and a Carrier, for one goroutine at a
// time.
type Server struct {
	Home   string // CODEX_HOME
	Thread string
	// Unattended: also start turns that no terminal shows.
	Unattended bool

	born      atomic.Int64                 // if c2c start has begun the thread: when, in Unix seconds; else 0
	first     time.Duration                // for tests: instead of receiptFirst
	processes func(home string) []process  // for tests: instead of the function processes
	ended     func(context.Context, []int) // for tests: instead of untilOneEnds; set if processes is set
}

// State is the state of a thread.
type State string

// The states of a thread. Unknown stands for any state that c2c does not know.
const (
	Idle      State = "idle"
	Busy      State = "active"
	Waiting   State = "waitingOnApproval" // the thread waits for an approval, or for another answer of its person
	NotLoaded State = "notLoaded"
	Unknown   State = "unknown"
)

// State asks the app-server for the thread's state.
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
			Status       status
			ThreadSource string
			CreatedAt    int64
		}
	}
	err := c.call(ctx, "thread/read", map[string]string{"threadId": s.Thread}, &read)
	var said *serverError
	if errors.As(err, &said) && said.Code == unknownThread {
		return NotLoaded, nil // the app-server knows no such thread; a thread that is only on disk has the status notLoaded
	}
	if err != nil {
		return Unknown, err
	}
	if read.Thread.ThreadSource == ownName {
		s.born.Store(read.Thread.CreatedAt)
	}
	return read.Thread.Status.state(), nil
}

// Ring starts a turn with the text of a ring. If a turn runs already, Ring adds the text to this
// turn.
func (s *Server) Ring(ctx context.Context, n wake.Notice) error {
	_, err := s.begin(ctx, n.Text(wake.Poll), "")
	return err
}

// Carry starts a turn with the messages as untrusted context, or adds them to the running turn. It
// returns when the messages are part of the conversation.
func (s *Server) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	text, ids := pack(msgs)
	if len(ids) == 0 {
		return nil, s.Ring(ctx, wake.NoticeOf(msgs)) // the first message is too long
	}
	return s.begin(ctx, line(msgs, len(ids)), text, ids...)
}

// pack joins the first messages into one text, as many as fit whole into maxContext.
func pack(msgs []mail.Message) (text string, ids []string) {
	for _, m := range msgs {
		part := m.Envelope()
		if len(text)+len(part)+1 > maxContext {
			break
		}
		text += part + "\n"
		ids = append(ids, m.Handle())
	}
	return text, ids
}

// line returns the text that the person sees in the terminal. The model gets it as the user's
// words, so it contains no words of the messages, only valid aliases.
func line(msgs []mail.Message, carried int) string {
	names := wake.NoticeOf(msgs[:carried]).From
	if len(names) == 0 {
		names = []string{"another agent"}
	}
	text := client.CodexLine + strings.Join(names, ", ") + ", not from your user"
	if carried > 1 {
		text += fmt.Sprintf(" (%d messages)", carried)
	}
	text += "."
	if rest := mail.MoreWait(len(msgs)-carried, false); rest != "" {
		text += " " + rest + ": " + wake.Poll + "."
	}
	return text
}

// begin starts a turn, or adds to the running turn. If ids is not empty, the argument carried has
// the messages with these ids, and begin waits for the receipt.
func (s *Server) begin(ctx context.Context, visible, carried string, ids ...string) ([]string, error) {
	c, err := dial(ctx, s.Home)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if err := s.ready(ctx, c); err != nil {
		return nil, err
	}
	id := "c2c-" + mail.NewID(time.Now())
	turn := map[string]any{
		"threadId": s.Thread, "clientUserMessageId": id, "turnTrigger": "c2c",
		"input": []any{map[string]any{"type": "text", "text": visible, "text_elements": []string{}}},
	}
	if carried != "" {
		// Use each key only once: Codex leaves out context if it has already got some under the
		// same key, even if the earlier line was lost.
		piece := map[string]string{"kind": "untrusted", "name": "mail_from_other_agents", "value": carried}
		turn["additionalContext"] = map[string]any{id: piece}
	}
	if err := c.call(ctx, "turn/start", turn, nil); err != nil {
		// Codex may have taken the turn even if no answer came. ErrUncaptured keeps the ringer from
		// trying another method at once.
		return nil, fmt.Errorf("%w: %v", wake.ErrUncaptured, err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if err := s.receipt(ctx, c, id); err != nil {
		return nil, fmt.Errorf("%w: no receipt: %v", wake.ErrUncaptured, err)
	}
	return ids, nil
}

// Ready returns nil if c2c may start a turn now. Otherwise the error gives the reason.
func (s *Server) Ready(ctx context.Context) error {
	c, err := dial(ctx, s.Home)
	if err != nil {
		return err
	}
	defer c.close()
	return s.ready(ctx, c)
}

func (s *Server) ready(ctx context.Context, c *conn) error {
	switch st, err := s.state(ctx, c); {
	case refused(err):
		return fmt.Errorf("%w: %v", wake.ErrUncaptured, err)
	case err != nil:
		return noAnswer(ctx, err)
	case st == NotLoaded:
		return fmt.Errorf("%w: thread %s is not open in Codex", wake.ErrUnreachable, s.Thread)
	case st == Waiting:
		return fmt.Errorf("%w: it waits for its person's answer", wake.ErrUncaptured)
	}
	return s.attended()
}

// attended returns nil if a terminal may show the thread, or if Unattended is set.
func (s *Server) attended() error {
	if s.Unattended {
		return nil
	}
	look := s.processes
	if look == nil {
		look = processes
	}
	switch s.shown(look(s.Home)) {
	case client.Away:
		return wake.ErrAway
	case client.Waiting:
		return fmt.Errorf("%w: its terminal has not opened it yet, or asks its person first", wake.ErrHeld)
	}
	return nil
}

// refused reports whether err is an error that the server has answered. If it is, the connection
// still works.
func refused(err error) bool {
	var said *serverError
	return errors.As(err, &said)
}

// receipt waits until our line is part of the conversation, and returns an error if the line is
// lost. It does not subscribe to the thread, because Codex asks subscribers for approvals.
func (s *Server) receipt(ctx context.Context, c *conn, id string) error {
	ctx, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	first := s.first
	if first == 0 {
		first = receiptFirst
	}
	atRest := 0
	for wait := first; ; wait = min(2*wait, receiptMost*first) {
		// Read the state before the list: if a turn takes the line and ends in between, the list
		// has the line.
		st, err := s.state(ctx, c)
		if err != nil && !refused(err) {
			return err
		}
		if there, err := s.listed(ctx, c, id); there || err != nil {
			return err
		}
		if st == Busy || st == Waiting {
			atRest = 0
		} else if atRest++; atRest == lostLooks {
			return errors.New("the line was not taken") // the person's Esc drops a line that the turn has not taken yet
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// listed reports whether the thread's newest items have our line.
func (s *Server) listed(ctx context.Context, c *conn, id string) (bool, error) {
	var page struct {
		Data []struct {
			Item struct{ ClientID string }
		}
	}
	err := c.call(ctx, "thread/items/list", map[string]any{"threadId": s.Thread, "sortDirection": "desc", "limit": receiptPage}, &page)
	if refused(err) {
		return false, nil // just after a thread's first turn has begun, Codex still refuses this request (-32601)
	}
	if err != nil {
		return false, err
	}
	for _, entry := range page.Data {
		if entry.Item.ClientID == id {
			return true, nil
		}
	}
	return false, nil
}
