package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The roots of two projects of one user: front, and shop, where amber is.
const (
	front = "home/.c2c/repos/aaaaaaaaaaaa/broker"
	shop  = "home/.c2c/repos/bbbbbbbbbbbb/broker"

	amberThere = "amber@bbbbbbbbbbbb" // how birch writes to amber
	birchThere = "birch@aaaaaaaaaaaa" // and amber to birch
)

// inProjects makes the state in which birch of front may write to amber of shop, and then applies
// more.
func inProjects(more ...func(*place) error) func(*place) error {
	return func(p *place) error {
		p.roots = map[string]string{"": front, "birch": front, "amber": shop}
		err := p.steps("birch: c2c register birch", "amber: c2c register amber")
		if err == nil { // c2c project allow needs a person at a terminal
			err = os.Symlink("a person has allowed it", p.path(shop+"/allow-aaaaaaaaaaaa"))
		}
		for _, f := range more {
			if err == nil {
				err = f(p)
			}
		}
		if err == nil {
			err = p.note("amber")
		}
		return err
	}
}

// stuck makes the state in which the message new to amber waits in the outbox of front.
func stuck(p *place) error {
	obstacle := p.path(front + "/host-p.bbbbbbbbbbbb.carry.lock")
	err := os.MkdirAll(obstacle, 0o700)
	if err == nil {
		_, err = p.run("birch", "c2c", "send", amberThere, "--id", "new", newBody)
	}
	return errors.Join(err, os.Remove(obstacle))
}

func carried(p *place) error {
	_, err := p.run("birch", "c2c", "send", amberThere, "--id", "new", newBody)
	return err
}

// projects are scenarios in which mail goes from one root to another one.
func projects() []*scenario {
	look := []string{"c2c", "list"}
	send := &scenario{name: "send, to another project", as: "birch", command: []string{"c2c", "send", amberThere, "--id", "new", newBody},
		prepare: inProjects(func(p *place) error { return p.send(amberThere, 2, 100) })}
	send.check = func(v *verdict) {
		sent := v.arrives("amber", letter{"new", newBody})
		v.must("birch", send.command...)
		v.same("waiting after a retry", v.waiting("amber"), sent)
		v.settled(send, "amber", amberThere, sent, sent)
		v.known("new", "read")
	}
	carry := &scenario{name: "list, with mail for another project", as: "birch", command: look, prepare: inProjects(stuck)}
	carry.check = func(v *verdict) {
		sent := v.arrives("amber", letter{"new", newBody})
		v.same("waiting after a look", v.waiting("amber"), sent)
		v.settled(carry, "amber", amberThere, sent, sent)
		v.known("new", "read")
	}
	read := &scenario{name: "poll-inbox, of mail from another project", as: "amber", command: []string{"c2c", "poll-inbox", "--json"}, prepare: inProjects(carried)}
	read.check = func(v *verdict) {
		if len(v.waiting("amber")) > 0 {
			v.known("new", "queued")
			v.must("amber", read.command...)
		}
		v.known("new", "read")
		v.settled(read, "amber", amberThere, []letter{}, v.mail)
	}
	answer := &scenario{name: "send, an answer to another project", as: "amber",
		command: []string{"c2c", "send", birchThere, "--id", "yes", "--reply-to", "new", newBody},
		prepare: inProjects(carried, func(p *place) error { return p.steps("amber: c2c poll-inbox") })}
	answer.check = func(v *verdict) {
		sent := v.arrives("birch", letter{"yes", newBody})
		v.must("amber", answer.command...)
		v.same("waiting after a retry", v.waiting("birch"), sent)
		v.must("birch", "c2c", "poll-inbox")
		v.same("archive", v.archived("birch"), sent)
		v.clean(false)
	}
	gone := &scenario{name: "list, with mail for a project that is gone", as: "birch", command: look, prepare: func(p *place) error {
		return errors.Join(inProjects(stuck)(p), os.RemoveAll(p.path(filepath.Dir(shop))))
	}}
	gone.check = func(v *verdict) {
		v.look("birch")
		v.same("dead letters", v.dead(), []letter{{"new", newBody}})
		v.known("new", "dead")
		if out := v.must("birch", "c2c", "poll-inbox"); strings.Count(out, "the project is not there any more") != 1 {
			v.wrong("birch is told %q", out)
		}
		v.clean(false)
	}
	return []*scenario{send, carry, read, answer, gone}
}

// arrives checks that a message to a session of another project has come there at most once, that
// its sender knows no better, and that the next look at deadlines carries it. It returns what waits
// there after that.
func (v *verdict) arrives(as string, l letter) (sent []letter) {
	var before []letter
	if as == "amber" {
		before = v.mail
	}
	from := map[string]string{"amber": "birch", "birch": "amber"}[as]
	out, err := v.place.run(from, "c2c", "status", l.ID, "--json") // it looks, too, so it comes first
	now, sent := v.waiting(as), append(slices.Clone(before), l)
	isThere := slices.Equal(now, sent)
	if !isThere {
		v.same("waiting", now, before)
	}
	var status struct {
		State  string
		Stored string `json:"stored_at_host"`
	}
	switch {
	case err != nil && !strings.Contains(err.Error(), "no such message"):
		v.wrong("afterwards: %v", err)
	case err != nil && (isThere || v.run.code == 0 && !v.run.killed):
		v.wrong("acknowledged or stored there, and unknown here")
	case err != nil:
		return sent // the caller sends it again
	case json.Unmarshal([]byte(out), &status) != nil, status.State != "queued", status.Stored != "" && !isThere:
		v.wrong("its status is %q, stored there at %q, and there it is %v", status.State, status.Stored, isThere)
	}
	v.look(from)
	v.same("waiting after a look", v.waiting(as), sent)
	return sent
}

// look makes a command look at the deadlines, as one does a minute after a failure.
func (v *verdict) look(as string) {
	if err := os.Remove(v.path(v.root(as) + "/owed.due")); err != nil && !os.IsNotExist(err) {
		v.wrong("%v", err)
	}
	v.must(as, "c2c", "list")
}

// known checks what birch is told of its message.
func (v *verdict) known(id, want string) {
	if state := v.state(id); state != want {
		v.wrong("%s is %q, want %q", id, state, want)
	}
}
