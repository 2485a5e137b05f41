package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// leave makes a session look as if its client had ended: its process has a start time that no
// process can have.
func leave(sid string) func(*place) error {
	return func(p *place) error {
		path := p.path("root/registry.json")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		mark := []byte(`"session_id":"` + sid + `",`)
		if !bytes.Contains(data, mark) {
			return fmt.Errorf("no %s in %s", mark, data)
		}
		return os.WriteFile(path, bytes.Replace(data, mark, append(mark, `"pid":1,"pid_start_time":-1,`...), 1), 0o600)
	}
}

// gone makes the state in which mail waits for coral, whose client has ended.
func gone(count, size int, more ...func(*place) error) func(*place) error {
	return func(p *place) error {
		err := errors.Join(p.pair(), p.steps(": c2c register coral --session-id old"))
		if err == nil {
			err = p.send("coral", count, size)
		}
		for _, f := range append([]func(*place) error{noted("old"), leave("old")}, more...) {
			if err == nil {
				err = f(p)
			}
		}
		return err
	}
}

func noted(as string) func(*place) error { return func(p *place) error { return p.note(as) } }

func registers() []*scenario {
	fresh := &scenario{name: "register, a new session", command: []string{"c2c", "register", "coral", "--session-id", "new", "--role", "tester"},
		prepare: waits(2, 100)}
	fresh.check = func(v *verdict) {
		fresh.checkRegistered(v, "amber amber", "birch birch")
		v.settled(fresh, "amber", "amber", v.mail, v.mail)
	}
	takeover := &scenario{name: "register, the alias of a session that left", command: []string{"c2c", "register", "coral", "--session-id", "new"},
		prepare: gone(9, 8000)}
	takeover.check = func(v *verdict) {
		takeover.checkRegistered(v, "amber amber", "birch birch")
		v.settled(takeover, "new", "coral", v.mail, v.mail)
	}
	// The mail is in files of all kinds: older files, a file with a single long message, the inbox.
	moved := gone(9, 8000, func(p *place) error {
		return errors.Join(p.sendLong("coral", "m-long", 70_000), p.steps("birch: c2c send coral --id m-last last"), p.note("old"))
	})
	both := &scenario{name: "register, while another process moves the same mail", command: takeover.command, prepare: moved}
	both.beside = func(p *place) (func() error, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		other := p.command(ctx, "", "", p.program(both.command)...)
		other.Stderr = os.Stderr
		if err := other.Start(); err != nil {
			cancel()
			return nil, err
		}
		return func() error {
			defer cancel()
			return other.Wait()
		}, nil
	}
	both.check = func(v *verdict) {
		if v.run.beside != nil {
			v.wrong("the other process: %v", v.run.beside)
		}
		both.checkRegistered(v, "amber amber", "birch birch")
		v.settled(both, "new", "coral", v.mail, v.mail)
	}
	sweep := func(p *place) error {
		return p.steps(": c2c sweep --grace 0s", ": c2c register birch --session-id birch")
	}
	back := &scenario{name: "register, with dead letters", command: []string{"c2c", "register", "--session-id", "old"},
		prepare: gone(9, 8000, sweep)}
	back.check = func(v *verdict) {
		back.checkRegistered(v, "birch birch")
		v.settled(back, "old", "coral", v.mail, v.mail)
	}
	return []*scenario{fresh, takeover, both, back}
}

// checkRegistered checks that the other sessions stay in the registry, and that a second try
// registers the session completely.
func (s *scenario) checkRegistered(v *verdict, others ...string) {
	who := s.command[slices.Index(s.command, "--session-id")+1]
	own := who + " coral"
	now := v.sessions()
	for _, other := range others {
		if !slices.Contains(now, other) {
			v.wrong("session %q is gone, there are %q", other, now)
		}
	}
	if v.run.code == 0 && !v.run.killed && !slices.Contains(now, own) {
		v.wrong("acknowledged, and not in %q", now)
	}
	if v.run.code == 0 && v.run.hit && v.fault.isSync() && !v.stillOwed() {
		v.wrong("acknowledged without the sync")
	}
	v.must("", s.command...)
	if now, want := v.sessions(), append(slices.Clone(others), own); !slices.Equal(now, want) {
		v.wrong("after a retry there are %q", now)
	}
	v.clean(false, ".lease/") // the leases hold waiting mail
}

// stillOwed reports whether the fault hit a move of mail to the session, and c2c has told the
// session that this mail is still to come. Such mail stays in its old mailbox until it is safe in
// the new one, so nothing was acknowledged too early.
func (v *verdict) stillOwed() bool {
	told := strings.Contains(v.run.stderr, "not moved yet") || strings.Contains(v.run.stderr, "the record of mail to move was not changed")
	return told && (strings.Contains(v.run.stderr, v.fault.words()) || v.fault.what == "ENOSPC" && strings.Contains(v.run.stderr, "the disk is full"))
}

// sessions returns ids and aliases, in the order of the registry.
func (v *verdict) sessions() (all []string) {
	var list []struct {
		ID    string `json:"session_id"`
		Alias string
	}
	if err := json.Unmarshal([]byte(v.must("", "c2c", "list", "--json")), &list); err != nil {
		v.wrong("list: %v", err)
	}
	for _, s := range list {
		all = append(all, s.ID+" "+s.Alias)
	}
	return all
}

// dead returns the dead letters, oldest first.
func (v *verdict) dead() (list []letter) {
	var all []struct{ Message letter }
	if err := json.Unmarshal([]byte(v.must("", "c2c", "dead-letter", "--json", "--limit", "0")), &all); err != nil {
		v.wrong("dead-letter: %v", err)
	}
	for _, d := range all {
		list = append(list, d.Message)
	}
	return list
}

func sweeps() []*scenario {
	s := &scenario{name: "sweep, with mail of who left", command: []string{"c2c", "sweep", "--grace", "0s"}, prepare: gone(9, 8000)}
	s.check = func(v *verdict) {
		if v.run.code == 0 && !v.run.killed {
			v.same("dead letters", v.dead(), v.mail)
		}
		for _, l := range v.mail {
			if state := v.state(l.ID); state != "queued" && state != "dead" {
				v.wrong("%s is %q", l.ID, state)
			}
		}
		v.must("", s.command...)
		v.must("", "c2c", "register", "birch", "--session-id", "birch")
		v.must("", "c2c", "register", "--session-id", "old")
		if left := v.dead(); len(left) > 0 {
			v.wrong("still dead: %s", ids(left))
		}
		v.settled(s, "old", "coral", v.mail, v.mail)
	}
	return []*scenario{s}
}
