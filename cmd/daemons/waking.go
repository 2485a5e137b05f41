// This part runs c2c wake: the daemon that wakes the sessions of a root from outside. It also describes the daemon's state.

package daemons

import (
	"context"
	"fmt"
	"io"
	"os"

	"c2c/broker"
	"c2c/cmd/ringer"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/wake"
)

// Daemon is the wake daemon of a root. Commands also use it to start, stop and query the daemon.
type WakeDaemon struct {
	daemon.Daemon
	Broker *broker.Broker // nil: there is no root
}

// New makes the Daemon of an open root. If there is no root, b is nil.
func NewWakeDaemon(b *broker.Broker) *WakeDaemon {
	var dir *atomicfile.Dir
	if b != nil {
		dir = b.Dir()
	}
	return &WakeDaemon{daemon.Wake(dir), b}
}

// Serve wakes sessions until ctx ends or a command stops the daemon.
func (d *WakeDaemon) Serve(ctx context.Context, r *ringer.Ringer) error {
	return d.Run(ctx, func(ctx context.Context) {
		r.Log.Info("wake daemon runs", "process", os.Getpid(), "root", d.Broker.Root(), "min-inject-gap", r.Gap)
		stop := r.Start(ctx)
		<-ctx.Done()
		stop()
		r.Log.Info("wake daemon ends")
	})
}

// Status is the daemon's state as other processes see it.
type WakeStatus struct {
	PID      int      `json:"pid,omitempty"` // 0: no daemon runs
	Root     string   `json:"root"`
	Sessions []Target `json:"sessions"`
}

// Target is a session that the daemon may ring.
type Target struct {
	ID         string    `json:"session_id"`
	Alias      string    `json:"alias"`
	Pane       string    `json:"pane,omitempty"`
	Unattended bool      `json:"unattended,omitempty"`
	LastRing   wake.Ring `json:"last_ring,omitzero"` // the last ring, by the daemon or by another ringer
}

// Look finds out whether the daemon of a root runs, and which sessions it may ring.
func (d *WakeDaemon) Look(ctx context.Context, root string) (st WakeStatus, err error) {
	st = WakeStatus{Root: root, Sessions: []Target{}}
	if st.PID, err = d.PID(); err != nil || d.Broker == nil {
		return st, err
	}
	all, err := d.Broker.Sessions(ctx)
	for _, s := range all {
		if ringer.DaemonMayRing(s) {
			st.Sessions = append(st.Sessions, Target{s.ID, s.Alias, s.Pane, s.Unattended, s.LastRing})
		}
	}
	return st, err
}

// Print writes the status for a person.
func (st WakeStatus) Print(w io.Writer) {
	state := "no wake daemon runs; c2c wake start starts one"
	if st.PID != 0 {
		state = fmt.Sprintf("wake daemon runs, process %d", st.PID)
	}
	fmt.Fprintf(w, "%s\nroot %s\n", state, st.Root)
	for _, t := range st.Sessions {
		method, last := t.Pane, "not rung yet"
		if method == "" {
			method = "its client's own socket"
		}
		if r := t.LastRing; !r.At.IsZero() {
			last = r.String()
		}
		fmt.Fprintf(w, "%s: %s; %s\n", t.Alias, method, last)
	}
}
