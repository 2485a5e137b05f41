package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"c2c/client"
)

// When a connection has ended or failed, Follow connects again after followFirst. The time doubles, up to followMost.
const (
	followFirst = time.Second
	followMost  = time.Minute
)

// status is the status of a thread, in the app-server's form.
type status struct {
	Type        State
	ActiveFlags []State
}

func (s status) state() State {
	for _, flag := range s.ActiveFlags {
		if flag == Waiting || flag == "waitingOnUserInput" {
			return Waiting
		}
	}
	switch s.Type {
	case Idle, Busy, NotLoaded:
		return s.Type
	}
	return Unknown
}

// doing returns package client's word for a state, or "" for a state that does not show what the session does.
func doing(st State) string {
	return map[State]string{Idle: client.Idle, Busy: client.Busy, Waiting: client.Waiting}[st]
}

// Follow reports what the thread does whenever that changes, until ctx ends. The app-server notifies all its clients
// about all its threads. Follow does not subscribe, because the app-server also asks subscribers for approvals.
func (s *Server) Follow(ctx context.Context, tell func(does string)) {
	wait := followFirst
	for ctx.Err() == nil {
		if s.follow(ctx, tell) {
			wait = followFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, followMost)
		}
	}
}

// follow is Follow for one connection. connected is false if it could not connect.
func (s *Server) follow(ctx context.Context, tell func(does string)) (connected bool) {
	c, err := dial(ctx, s.Home)
	if err != nil {
		return false
	}
	defer c.close()
	// The state read here includes every change before it.
	st, err := s.state(ctx, c)
	for ; err == nil; st, err = c.changed(ctx, s.Thread) {
		connected = true
		tell(doing(st))
	}
	if connected && ctx.Err() == nil {
		tell("")
	}
	return connected
}

// changed waits until the app-server reports a new state of a thread.
func (c *conn) changed(ctx context.Context, thread string) (State, error) {
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			return Unknown, fmt.Errorf("follow thread %s: %w", thread, err)
		}
		var note struct {
			Method string
			Params struct {
				ThreadID string
				Status   status
			}
		}
		// The server's requests and lines of another form are for the terminals.
		if json.Unmarshal(data, &note) == nil && note.Method == "thread/status/changed" && note.Params.ThreadID == thread {
			return note.Params.Status.state(), nil
		}
	}
}

// dirOf returns the working directory of a thread of the app-server. ok is false for a thread that no person sees: a
// subagent's, or a short-lived one.
func dirOf(ctx context.Context, home, thread string) (dir string, ok bool, err error) {
	c, err := dial(ctx, home)
	if err != nil {
		return "", false, err
	}
	defer c.close()
	var read struct {
		Thread struct {
			Cwd       string
			Parent    string `json:"parentThreadId"`
			Ephemeral bool
		}
	}
	err = c.call(ctx, "thread/read", map[string]string{"threadId": thread}, &read)
	is := read.Thread
	return is.Cwd, err == nil && is.Parent == "" && !is.Ephemeral, err
}
