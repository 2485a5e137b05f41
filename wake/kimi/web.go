package kimi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"c2c/internal/atomicfile"
	"c2c/wake"
	"c2c/wake/socket"
)

const (
	tokenFile  = "server.token" // in the client's configuration directory; all servers of the client share it
	maxToken   = 4 << 10
	maxAnswer  = 64 << 10
	answerTime = 5 * time.Second
)

// web is a session of `kimi web`.
type web struct {
	config, session string
	port            int
}

// Ring sends the session a prompt with the text of the ring. The client's hook for that prompt
// brings the mail.
func (w *web) Ring(ctx context.Context, n wake.Notice) error {
	token, err := w.token()
	if err != nil {
		return err
	}
	if err := socket.OurPort(w.port); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": n.Text(wake.Poll)}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	to := fmt.Sprintf("http://127.0.0.1:%d/api/v1/sessions/%s/prompts", w.port, url.PathEscape(w.session))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	// Use no proxy from the environment and follow no redirect, so that the token goes nowhere
	// else.
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %v", wake.ErrUncaptured, err)
	}
	defer answer.Body.Close()
	var said struct {
		Code int
		Msg  string
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&said); err != nil || answer.StatusCode != http.StatusOK || said.Code != 0 {
		return fmt.Errorf("%w: its server answers %s, %d %.200q", wake.ErrUncaptured, answer.Status, said.Code, said.Msg)
	}
	return nil
}

// token returns the token that the server demands from its callers.
func (w *web) token() (string, error) {
	data, err := atomicfile.ReadForeign(filepath.Join(w.config, tokenFile), maxToken)
	if err != nil {
		return "", fmt.Errorf("%w: %v", wake.ErrUnreachable, err)
	}
	return strings.TrimSpace(string(data)), nil
}
