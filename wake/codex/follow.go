package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"c2c/client"
	"c2c/internal/daemon"
)

// After a connection has ended or failed, Follow connects again after the time followFirst. This
// time doubles, up to followMost.
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

// doing returns the word of package client for a state, or "" for a state that does not show what
// the session does.
func doing(st State) string {
	return map[State]string{Idle: client.Idle, Busy: client.Busy, Waiting: client.Waiting}[st]
}

// Until ctx ends, Follow calls the function tell whenever the thread begins to do something else.
// The argument does is a word of package client. The app-server reports the states of all threads
// to all its clients. Follow does not subscribe to the thread, because the app-server also asks
// subscribers for approvals.
//
// When a terminal has ended, the app-server keeps its thread for a minute, and reports nothing. So
// Follow also waits for the end of the terminals. When the last one has ended, Follow reports that
// an idle thread is away.
func (s *Server) Follow(ctx context.Context, tell func(does string)) {
	v := view{tell: tell, idle: make(chan struct{}, 1)}
	var watching sync.WaitGroup
	defer watching.Wait()
	if !s.Unattended {
		watching.Go(func() { s.watchTerminals(ctx, &v) })
	}
	wait := followFirst
	for ctx.Err() == nil {
		if s.follow(ctx, &v) {
			wait = followFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, followMost)
		}
	}
}

// follow does the work of Follow for one connection. The result connected is false if it could not
// connect, or if the app-server does not report the state yet: just when the first turn of a thread
// begins, the app-server cannot read the thread.
func (s *Server) follow(ctx context.Context, v *view) (connected bool) {
	c, err := dial(ctx, s.Home)
	if err != nil {
		return false
	}
	defer c.close()
	// Read the state after connecting, so that no change is missed: the answer includes all changes
	// before it.
	st, err := s.state(ctx, c)
	for ; err == nil; st, err = c.changed(ctx, s.Thread) {
		connected = true
		v.does(doing(st))
	}
	if connected && ctx.Err() == nil {
		v.does("")
	}
	return connected
}

// view is what Follow reports of a thread: what the thread does, or that no terminal shows it.
type view struct {
	tell func(does string)
	idle chan struct{} // gets a value when the thread is idle, to make watchTerminals look for terminals
	late atomic.Bool   // a state has come since the last look began: the look may have missed a terminal that has just opened the thread

	mu    sync.Mutex
	state string
	said  string // what was reported last
	shown string // what the last look has found, see Server.shown; empty before
}

// The method does takes the thread's new state, and reports it.
func (v *view) does(state string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = state
	v.late.Store(true)
	// Look before "away" is reported: a new terminal may be there, and after "away" package owed
	// tells others that the session has ended.
	if v.shown != client.Away && v.shown != client.Waiting || state != client.Idle {
		v.report(state)
	}
	if state == client.Idle {
		daemon.Poke(v.idle)
	}
}

// The method shows takes what a look has found, a word of Server.shown. If the thread is idle, it
// reports a change.
func (v *view) shows(word string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if word == client.Away && v.state == client.Idle && v.late.Load() {
		return // the next look, which is due already, decides
	}
	v.shown = word
	if v.state == client.Idle && word != v.said {
		v.report(word)
	}
}

func (v *view) report(does string) { v.said = does; v.tell(does) }

// watchTerminals tells v when the last terminal of the app-server has ended, and when the thread's
// own terminal has yet to open it. It looks again each time the thread is idle: when a terminal
// opens the thread, the app-server ends the thread, begins it again, and reports it as idle. A
// thread for which there was no terminal yet is not away, because a terminal may be about to open
// it. No event shows that this terminal comes, so for a thread of c2c start watchTerminals looks
// again after a second, then after ever longer times.
func (s *Server) watchTerminals(ctx context.Context, v *view) {
	look, wait := s.processes, s.ended
	if look == nil {
		look, wait = processes, untilOneEnds
	}
	again := time.Second
	for seen := false; ctx.Err() == nil; {
		var pids []int
		v.late.Store(false)
		all := look(s.Home)
		for _, p := range all {
			if p.client && p.terminal && len(p.threads) == 0 {
				pids = append(pids, p.pid)
			}
		}
		seen = seen || len(pids) > 0
		word := s.shown(all)
		if word == client.Away && (len(pids) > 0 || !seen) {
			word = client.Idle
		}
		v.shows(word)
		next := time.Duration(math.MaxInt64)
		if s.born.Load() != 0 && again < unloadTime {
			next = again
			again *= 2
		}
		waits, stop := context.WithTimeout(ctx, next)
		var waiting sync.WaitGroup
		if len(pids) > 0 {
			waiting.Go(func() { wait(waits, pids); stop() })
		}
		select {
		case <-v.idle:
		case <-waits.Done():
		}
		stop()
		waiting.Wait()
	}
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
		// Ignore requests of the server and messages of another form: they are for the terminals.
		if json.Unmarshal(data, &note) == nil && note.Method == "thread/status/changed" && note.Params.ThreadID == thread {
			return note.Params.Status.state(), nil
		}
	}
}

// dirOf returns the working directory of a thread of the app-server. The result ok is false for a
// thread that no person sees: a subagent's thread, or a short-lived one.
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
