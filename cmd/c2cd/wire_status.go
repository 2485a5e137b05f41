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
	"c2c/cmd/cli"
	"c2c/doctor"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/wire"
)

// wireKept is the file of a daemon: what it was started with, and what its agent does.
type wireKept struct {
	wireOptions
	State wire.State `json:"state,omitzero"`
}

func (d *wireDaemon) tell(s wire.State) {
	text, err := json.Marshal(wireKept{d.wireOptions, s})
	if err == nil {
		err = d.Dir.Replace(d.Name+wireSuffix, append(text, '\n'))
	}
	if err != nil {
		d.a.log.Warn("state is not kept", "err", err)
	}
	d.a.log.Info("agent", "state", s.Agent, "cause", s.Cause, "approval", s.Approval)
}

const wireSuffix = ".json"

func (d *wireDaemon) kept() (k wireKept, err error) {
	if d.Dir == nil {
		return k, nil
	}
	text, err := d.Dir.ReadIf(d.Name + wireSuffix)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		err = fmt.Errorf("read the state of the %s: %w", d.What, err)
	}
	return k, err
}

// wireStatus is what is known of one daemon.
type wireStatus struct {
	Alias string `json:"alias"`
	PID   int    `json:"pid,omitempty"` // 0: it does not run
	wireKept
	Waiting  int       `json:"waiting"` // messages
	Handed   int       `json:"handed"`  // messages that its model has not answered yet
	LastRing wake.Ring `json:"last_ring,omitzero"`
}

func (d *wireDaemon) look(ctx context.Context) (st wireStatus, err error) {
	st.Alias = d.alias
	if st.PID, err = d.PID(); err != nil {
		return st, err
	}
	if st.wireKept, err = d.kept(); err != nil {
		st.State.Cause = err.Error() // a damaged file hides nobody else
	}
	if st.PID == 0 && st.State.Agent != wire.Failed {
		st.State.Agent = wire.Off // it may have been killed
	}
	if d.b == nil {
		return st, nil
	}
	s, err := callers.Resolve(ctx, d.b.Registry, callers.Caller{Explicit: d.alias})
	if errors.Is(err, sessions.ErrNoSession) {
		return st, nil
	}
	var box *inbox.Mailbox
	if err == nil {
		st.LastRing = s.LastRing
		box, err = d.b.Mailbox(s.ID)
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

func (st wireStatus) print(w io.Writer) {
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

func (d *wireDaemon) status(ctx context.Context, asJSON bool) error {
	st, err := d.look(ctx)
	if err != nil {
		return err
	}
	return d.a.show(st, st.PID != 0, asJSON)
}

// wireStatuses are all daemons of a root that ever ran.
func (a *app) wireStatuses(ctx context.Context, b *broker.Broker, dir *atomicfile.Dir) (all []wireStatus, err error) {
	if dir == nil {
		return nil, nil
	}
	names, err := dir.Names()
	slices.Sort(names)
	for _, name := range names {
		alias, ok := strings.CutSuffix(name, wireSuffix)
		if !ok || atomicfile.IsTemp(name) || err != nil {
			continue
		}
		var st wireStatus
		st, err = a.wireOf(b, dir, alias).look(ctx)
		all = append(all, st)
	}
	return all, err
}

func (a *app) listWire(ctx context.Context, b *broker.Broker, dir *atomicfile.Dir, asJSON bool) error {
	all, err := a.wireStatuses(ctx, b, dir)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.stdout, append([]wireStatus{}, all...))
	}
	for _, st := range all {
		st.print(a.stdout)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.stdout, "no wire daemon was started here; c2c wire-daemon start --alias <name> starts one")
	}
	return nil
}

// checkWire tells of daemons that were killed, whose mail nobody carries now. One that was stopped is told by nobody.
func (a *app) checkWire(ctx context.Context, b *broker.Broker) (found []doctor.Finding) {
	dir, err := openWire(b, false)
	if err != nil {
		return []doctor.Finding{doctor.Failed("wire daemons", filepath.Join(b.Root(), wireDir), err)}
	}
	if dir == nil {
		return nil
	}
	defer dir.Close()
	all, err := a.wireStatuses(ctx, b, dir)
	if err != nil {
		found = append(found, doctor.Failed("wire daemons", dir.Path(), err))
	}
	for _, st := range all {
		d := a.wireOf(b, dir, st.Alias)
		if killed, err := d.Killed(); err == nil && killed && st.Waiting > 0 {
			found = append(found, doctor.Finding{Status: doctor.Warning, Part: d.What, Path: d.Log(),
				Detail: fmt.Sprintf("it was killed, and mail waits (%d): c2c %s restart", st.Waiting, d.Verb)})
		}
	}
	return found
}
