package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/coder/websocket"

	"c2c/wake"
	"c2c/wake/socket"
)

const (
	callTime = 5 * time.Second // limit for one request
	maxFrame = 4 << 20         // bytes: a page of a thread's items may be large (each command's output has up to 64 KiB)
	maxHead  = 64 << 10        // bytes of the handshake's answer
)

// ownName is what c2c calls itself, also as the source of each thread that it begins.
const ownName = "c2c"

// unknownThread is the app-server's error code for an unknown thread, and for any other invalid
// request.
const unknownThread = -32600

// conn is one initialized connection to the app-server.
type conn struct {
	ws *websocket.Conn
	id int
}

type request struct {
	ID     int    `json:"id,omitempty"`
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// serverError is the app-server's refusal of a request.
type serverError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *serverError) Error() string {
	return fmt.Sprintf("app-server: %.200q (%d)", e.Message, e.Code)
}

func dial(ctx context.Context, home string) (*conn, error) {
	path, err := socketOf(home)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "unix", path)
			},
			DisableKeepAlives:      true, // otherwise each ring of a server without WebSocket leaves a connection open
			MaxResponseHeaderBytes: maxHead,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ws, _, err := websocket.Dial(timed, "ws://localhost/", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		return nil, noAnswer(ctx, fmt.Errorf("app-server: %v", err))
	}
	ws.SetReadLimit(maxFrame)
	c := &conn{ws: ws}
	hello := map[string]any{
		"clientInfo":   map[string]string{"name": ownName, "title": "c2c", "version": "0"},
		"capabilities": map[string]bool{"experimentalApi": true, "requestAttestation": false},
	}
	err = c.call(timed, "initialize", hello, nil)
	if err == nil {
		err = c.write(timed, request{Method: "initialized"})
	}
	if err != nil {
		c.close()
		return nil, noAnswer(ctx, err)
	}
	return c, nil
}

// noAnswer wraps err, the error of a server that does not answer, in ErrUnreachable. If ctx has
// ended, the server may be well, so noAnswer wraps err in ErrUncaptured.
func noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %v", wake.ErrUncaptured, err)
	}
	return fmt.Errorf("%w: %v", wake.ErrUnreachable, err)
}

// socketOf follows Codex's link to its socket, and returns the socket's path. It refuses a socket
// that another user could have put there.
func socketOf(home string) (string, error) {
	link := filepath.Join(home, "app-server-control", "app-server-control.sock")
	path, err := filepath.EvalSymlinks(link)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: no app-server runs (%s)", wake.ErrUnreachable, link)
	}
	if err != nil {
		return "", fmt.Errorf("find the app-server: %w", err)
	}
	return path, socket.PrivateSocket(path)
}

// close does not wait for an answer, because the app-server may be suspended.
func (c *conn) close() { c.ws.CloseNow() }

func (c *conn) write(ctx context.Context, r request) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageText, data)
}

// call sends a request and waits for its answer. It ignores everything else that the server sends,
// even the server's own requests: those are for the person's terminal.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c.id++
	if err := c.write(ctx, request{c.id, method, params}); err != nil {
		return fmt.Errorf("ask app-server for %s: %w", method, err)
	}
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			return fmt.Errorf("ask app-server for %s: %w", method, err)
		}
		var answer struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  *serverError
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return fmt.Errorf("ask app-server for %s: %w", method, err)
		}
		if answer.Method != "" || string(answer.ID) != fmt.Sprint(c.id) {
			continue
		}
		if answer.Error != nil {
			return fmt.Errorf("ask app-server for %s: %w", method, answer.Error)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(answer.Result, result)
	}
}
