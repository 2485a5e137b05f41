package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/wire"
)

// Kept is the content of a daemon's file: the options of the daemon, and the state of its agent.
type Kept struct {
	wireOptions
	State wire.State `json:"state,omitzero"`
}

func (d *wireDaemon) tell(s wire.State) {
	text, err := json.Marshal(Kept{d.wireOptions, s})
	if err == nil {
		err = d.Dir.Replace(d.Name+suffix, append(text, '\n'))
	}
	if err != nil {
		d.a.log.Warn("the agent's state was not recorded", "err", err)
	}
	d.a.log.Info("agent", "state", s.Agent, "cause", s.Cause, "approval", s.Approval)
}

const suffix = ".json"

// Kept reads the daemon's file.
func (d *wireDaemon) Kept() (k Kept, err error) {
	if d.Dir == nil {
		return k, nil
	}
	text, err := d.Dir.ReadIf(d.Name + suffix)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		err = fmt.Errorf("read the state of the %s: %w", d.What, err)
	}
	return k, err
}

// wireStatus is a daemon's state as other processes see it.
type wireStatus struct {
	Alias string `json:"alias"`
	PID   int    `json:"pid,omitempty"` // 0: the daemon does not run
	Kept
	Waiting  int       `json:"waiting"` // number of messages that wait
	Handed   int       `json:"handed"`  // number of messages that the agent has got, but has not answered yet
	LastRing wake.Ring `json:"last_ring,omitzero"`
}

// Look finds the daemon's status.
func (d *wireDaemon) Look(ctx context.Context) (st wireStatus, err error) {
	st.Alias = d.Alias
	if st.PID, err = d.PID(); err != nil {
		return st, err
	}
	if st.Kept, err = d.Kept(); err != nil {
		st.State.Cause = err.Error() // do not return the error: c2c would not show the other daemons
	}
	if st.PID == 0 && st.State.Agent != wire.Failed {
		st.State.Agent = wire.Off // the file may have been left by a killed daemon
	}
	if d.Broker == nil {
		return st, nil
	}
	s, err := callers.Resolve(ctx, d.Broker.Registry, callers.Caller{Explicit: d.Alias})
	if errors.Is(err, sessions.ErrNoSession) {
		return st, nil
	}
	var box *inbox.Mailbox
	if err == nil {
		st.LastRing = s.LastRing
		box, err = d.Broker.Mailbox(s.ID)
	}
	if err != nil {
		return st, err
	}
	msgs, err := box.Peek(ctx)
	st.Waiting = len(msgs)
	if err == nil {
		st.Handed, err = box.InHand()
	}
	return st, err
}

// Print writes the status for a person.
func (st wireStatus) Print(w io.Writer) {
	state := "no wire daemon runs"
	if st.PID != 0 {
		state = fmt.Sprintf("wire daemon runs, process %d", st.PID)
	}
	fmt.Fprintf(w, "%s: %s\n", st.Alias, state)
	if len(st.Agent) > 0 {
		fmt.Fprintf(w, "  agent %q in %s\n", strings.Join(st.Agent, " "), st.In)
	}
	agent := st.State.Agent
	if st.State.Cause != "" {
		agent += ": " + st.State.Cause
	}
	fmt.Fprintf(w, "  %s\n", agent)
	if st.State.Approval != "" {
		fmt.Fprintf(w, "  %s\n", st.State.Approval)
	}
	if !st.LastRing.At.IsZero() {
		fmt.Fprintf(w, "  last mail: %s\n", st.LastRing)
	}
	fmt.Fprintf(w, "  %d waiting, %d handed\n", st.Waiting, st.Handed)
}

// wireStatuses returns the status of each daemon that has ever run in a root.
func wireStatuses(ctx context.Context, b *broker.Broker, dir *atomicfile.Dir) (all []wireStatus, err error) {
	if dir == nil {
		return nil, nil
	}
	names, err := dir.Names()
	slices.Sort(names)
	for _, name := range names {
		alias, ok := strings.CutSuffix(name, suffix)
		if !ok || atomicfile.IsTemp(name) || err != nil {
			continue
		}
		var st wireStatus
		st, err = newWireDaemon(b, dir, alias).Look(ctx)
		all = append(all, st)
	}
	return all, err
}

// checkWire finds killed daemons for which mail waits. A stopped daemon is no problem.
func checkWire(ctx context.Context, b *broker.Broker) (found []format.Finding) {
	dir, err := openWire(b, false)
	if err != nil {
		return []format.Finding{format.Failed("wire daemons", filepath.Join(b.Root(), wireDir), err)}
	}
	if dir == nil {
		return nil
	}
	defer dir.Close()
	all, err := wireStatuses(ctx, b, dir)
	if err != nil {
		found = append(found, format.Failed("wire daemons", dir.Path(), err))
	}
	for _, st := range all {
		d := newWireDaemon(b, dir, st.Alias)
		if killed, err := d.Killed(); err == nil && killed && st.Waiting > 0 {
			found = append(found, format.Finding{Status: format.Warning, Part: d.What, Path: d.Log(),
				Detail: fmt.Sprintf("the daemon was killed, and mail waits (%d): c2c %s restart", st.Waiting, d.Verb)})
		}
	}
	return found
}
