package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"c2c/serve"
)

// answerTime is how long a running daemon may take to answer.
const answerTime = 5 * time.Second

// httpStatus is the daemon's state as other processes see it.
type httpStatus struct {
	Running bool `json:"running"`
	serve.At
	Token    string `json:"token_file,omitempty"`
	Answers  bool   `json:"answers"`
	Stranger bool   `json:"stranger,omitempty"`      // another program listens at the port that clients know
	Private  bool   `json:"token_private,omitempty"` // only this user may read the token
}

// Look finds the daemon's state.
func (d *httpDaemon) Look(ctx context.Context) (st httpStatus, err error) {
	if d.Files == nil {
		return st, nil
	}
	if st.At, err = d.at(); err != nil {
		return st, err
	}
	info, err := os.Lstat(serve.TokenFile(d.State))
	if err == nil {
		st.Token, st.Private = serve.TokenFile(d.State), info.Mode().Perm()&0o077 == 0
	} else if !errors.Is(err, fs.ErrNotExist) {
		return st, err
	}
	if st.Running = st.PID != 0; st.Running {
		st.Answers = answers(ctx, st.Port)
		return st, nil
	}
	st.Port, err = serve.PortBefore(d.Files)
	st.Stranger = err == nil && st.Port != 0 && listens(ctx, st.Port)
	return st, err
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// listens reports whether a program accepts connections at a port. It sends no data.
func listens(ctx context.Context, port int) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address(port))
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// answers reports whether the daemon answers at its health path, which needs no token.
func answers(ctx context.Context, port int) bool {
	said, ok := askHTTP(ctx, port, "/healthz", "")
	return ok && strings.HasPrefix(said, `{"ok":true,`)
}

// askHTTP requests a path, with a token unless it is "". It returns the beginning of the answer; ok
// reports success. It uses no proxy, because the port is on this machine.
func askHTTP(ctx context.Context, port int, path, token string) (said string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address(port)+path, nil)
	if err != nil {
		return "", false
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return string(data), err == nil && resp.StatusCode == http.StatusOK
}

// Print writes the status for a person.
func (st httpStatus) Print(w io.Writer) {
	if !st.Running {
		fmt.Fprintln(w, "no HTTP daemon runs; c2c serve start starts one")
		if st.Stranger {
			fmt.Fprintln(w, st.WarnStranger())
		}
		return
	}
	fmt.Fprintf(w, "HTTP daemon runs, process %d, version %s\nurl %s\nroot %s, of %s\ntoken in %s\n", st.PID, st.Version, st.URL, st.Root, st.Dir, st.Token)
	if !st.Answers {
		fmt.Fprintln(w, "it does not answer; c2c serve restart starts a new one")
	}
}

// WarnStranger returns a warning about another program at the port, and what to do.
func (st httpStatus) WarnStranger() string {
	return fmt.Sprintf("another program listens at port %d, where clients look for c2c: they send it the token. Stop it, or run c2c serve rotate-token and c2c serve start --port 0", st.Port)
}
