package qwen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"c2c/wake"
	"c2c/wake/socket"
)

// Socket is the messaging socket of one session.
type Socket struct {
	Path    string
	Token   string
	Session func() string // returns the client's id for its current session
}

// FromEnv finds the socket of the session that started this program. If there is no socket, the
// error says why.
func FromEnv(getenv func(string) string) (*Socket, error) {
	path := getenv("QWEN_CODE_MESSAGING_SOCKET")
	if path == "" {
		return nil, fmt.Errorf("%w: the client gave no messaging socket (agents.crossSessionMessaging)", wake.ErrUnreachable)
	}
	return &Socket{Path: path, Token: getenv("QWEN_CODE_MESSAGING_TOKEN")}, nil
}

// The statuses of a message in the client's receipts. c2c ignores any other status.
const (
	delivered    = "delivered" // queued for the model
	held         = "held"      // the person has not accepted it yet
	refused      = "refused"
	denied       = "denied" // the client held the message, and its person said no
	expired      = "expired"
	dropped      = "dropped"
	misaddressed = "misaddressed"
)

var errHeld = fmt.Errorf("%w: it waits there until it is accepted (/peers), as agents.crossSessionInbound says", wake.ErrConsent)

// verdict returns the error for a receipt's status. It returns nil for a message that may still
// arrive.
func verdict(status string) error {
	switch status {
	case refused:
		return fmt.Errorf("%w: agents.crossSessionInbound lets no other session write to it", wake.ErrRefused)
	case denied:
		return fmt.Errorf("%w: its person said no", wake.ErrRefused)
	case misaddressed: // no model has seen the message; the next ring finds the client's new session
		return fmt.Errorf("%w: the client has begun another session", wake.ErrHeld)
	case expired, dropped:
		return fmt.Errorf("%w: the client says that the message is %s", wake.ErrUncaptured, status)
	}
	return nil
}

// answerTime is the longest wait for the client's receipt. A receipt usually comes within
// milliseconds.
const answerTime = 15 * time.Second

// Ring writes the text of the ring, which starts a turn. The hook at the end of that turn brings
// the mail, or the model calls poll_inbox.
func (s *Socket) Ring(ctx context.Context, n wake.Notice) error {
	p, err := s.send(ctx, "c2c", n.Text(wake.Poll))
	if err != nil {
		return err
	}
	defer p.close()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: it does not say what it has done with the message", wake.ErrUncaptured)
		case <-p.changed:
		}
		switch status := p.last(); status {
		case delivered:
			return nil
		case held:
			return errHeld
		default:
			if err := verdict(status); err != nil {
				return err
			}
		}
	}
}

// send writes one message. The returned outgoing collects its receipts, until the caller closes it.
func (s *Socket) send(ctx context.Context, from, text string) (*outgoing, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %v", wake.ErrUncaptured, err)
	}
	if err := socket.PrivateSocket(s.Path); err != nil {
		return nil, err
	}
	session := s.Session()
	if session == "" {
		return nil, fmt.Errorf("%w: the client has no record of its session", wake.ErrUnreachable)
	}
	p, err := newOutgoing()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, line := range []map[string]any{
		{"msgV": 1, "type": "auth", "token": s.Token},
		{"msgV": 1, "type": "user", "msgId": p.id, "from": p.address(), "replyToken": p.token, "fromName": from, "toSessionId": session,
			"priority": "next", "message": map[string]string{"role": "user", "content": text}},
	} {
		if err = enc.Encode(line); err != nil {
			break
		}
	}
	if err == nil {
		err = socket.WriteSocket(ctx, s.Path, out.Bytes(), untilClosed)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// untilClosed waits a moment until the client closes the connection, because this shows that the
// client has taken the message. A slow client may take the message later, so untilClosed ignores a
// timeout.
func untilClosed(conn *net.UnixConn) error {
	if err := conn.CloseWrite(); err != nil {
		return err
	}
	io.Copy(io.Discard, conn)
	return nil
}
