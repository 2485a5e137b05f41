package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"c2c/client"
	"c2c/internal/daemon"
	"c2c/wake"
	"c2c/wake/socket"
)

// Socket is the messaging socket of one session.
type Socket struct {
	Path    string
	Token   string
	Now     func() time.Time
	Inbound func() string // what client.ClaudeInbound returns now; nil: the client takes everything

	bucket daemon.Bucket
	rings  int
}

// FromEnv finds the socket of the session that started this program. If there is no socket, the
// error says why.
func FromEnv(getenv func(string) string, now func() time.Time) (*Socket, error) {
	path := getenv("CLAUDE_CODE_MESSAGING_SOCKET")
	if path == "" && getenv("CLAUDE_CODE_HARBOR_KITE") == "0" {
		return nil, fmt.Errorf("%w: CLAUDE_CODE_HARBOR_KITE=0 turns its messaging socket off", wake.ErrUnreachable)
	}
	if path == "" {
		return nil, fmt.Errorf("%w: the client gave no messaging socket", wake.ErrUnreachable)
	}
	return &Socket{Path: path, Token: getenv("CLAUDE_CODE_MESSAGING_TOKEN"), Now: now}, nil
}

// Ring writes one line with the text of the ring. The line makes the client run its
// UserPromptSubmit hook, which hands over the mail in the same request to the model. Without our
// hooks, the model calls poll_inbox.
func (s *Socket) Ring(ctx context.Context, n wake.Notice) error {
	s.rings++ // makes each text different: the client drops a text that it got within the last 30 s, from any process
	at := s.Now().UTC().Format("15:04:05")
	err := s.write(ctx, "c2c", fmt.Sprintf("%s\n(ring %d, %s)", n.Text(wake.Poll), s.rings, at))
	if err == nil && s.inbound() == client.ClaudeHolds {
		return fmt.Errorf("%w: its person has set crossSessionInbound to hold", wake.ErrConsent)
	}
	return err
}

func (s *Socket) inbound() string {
	if s.Inbound == nil {
		return ""
	}
	return s.Inbound()
}

// sender is the name under which the client counts our messages. The client takes 30 messages of
// each sender at once, and then one every two seconds.
const sender = "c2c"

// write puts text into the client's own frame for messages of other sessions. The text cannot close
// this frame, because mail.Message.Envelope escapes the tags of the frame in the body of a message.
func (s *Socket) write(ctx context.Context, name, text string) error {
	if s.inbound() == client.ClaudeRefuses {
		return fmt.Errorf("%w: its person has set crossSessionInbound to refuse", wake.ErrRefused)
	}
	if !s.bucket.Take(limit, s.Now()) {
		return fmt.Errorf("%w: the client would drop the message: it takes 30 at once, and then one in 2 seconds", wake.ErrUncaptured)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	content := fmt.Sprintf("<cross-session-message from=%q from-name=%q>\n%s\n</cross-session-message>", sender, name, text)
	for _, line := range []map[string]any{
		{"type": "auth", "token": s.Token},
		{"type": "user", "message": map[string]string{"role": "user", "content": content}, "from": sender},
	} {
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	if err := socket.PrivateSocket(s.Path); err != nil {
		return err
	}
	return socket.WriteSocket(ctx, s.Path, out.Bytes(), nil)
}

// limit is lower than the client's own limit (see sender), because other processes may use our
// name, too. The client drops messages above its limit silently.
var limit = daemon.Limit{Burst: 25, Interval: 2 * time.Second}
