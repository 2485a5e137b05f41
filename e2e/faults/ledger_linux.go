package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// letter is the part of a message that must not change.
type letter struct {
	ID      string `json:"message_id"`
	Content string `json:"content"`
}

// verdict checks the state after a run, with ordinary commands, and collects the problems that it
// finds.
type verdict struct {
	*place
	fault fault
	run   *result
	found []string
}

func (v *verdict) wrong(format string, args ...any) {
	v.found = append(v.found, fmt.Sprintf(format, args...))
}

// must runs a command that has to succeed, whatever has failed before.
func (v *verdict) must(as string, words ...string) string {
	out, err := v.place.run(as, words...)
	if err != nil {
		v.wrong("afterwards: %v", err)
	}
	return out
}

// letters reads the output of a command with --json.
func (v *verdict) letters(as string, words ...string) (list []letter) {
	if err := json.Unmarshal([]byte(v.must(as, words...)), &list); err != nil {
		v.wrong("%s: %v", strings.Join(words, " "), err)
	}
	return list
}

func (v *verdict) waiting(as string) []letter { return v.letters(as, "c2c", "peek-inbox", "--json") }

// archived returns the history, oldest first.
func (v *verdict) archived(as string) []letter {
	list := v.letters(as, "c2c", "history", "--json", "--limit", "100000")
	slices.Reverse(list)
	return list
}

// state returns the state of a message according to c2c status, "" if c2c knows no such message.
func (v *verdict) state(id string) string {
	out, err := v.place.run("birch", "c2c", "status", id, "--json")
	if err != nil {
		if !strings.Contains(err.Error(), "no such message") {
			v.wrong("afterwards: %v", err)
		}
		return ""
	}
	var status struct{ State string }
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		v.wrong("status: %v", err)
	}
	return status.State
}

// reported checks each run: it must not hang or panic, and if it fails, its output must name the
// cause.
func (v *verdict) reported() {
	r := v.run
	switch {
	case r.hung:
		v.wrong("it hangs")
	case strings.Contains(r.stderr, "goroutine ") || strings.Contains(r.stderr, "panic"):
		v.wrong("it panics: %s", r.stderr)
	case r.killed == (v.fault.what != kill) && r.hit:
		v.wrong("killed: %v", r.killed)
	case r.code != 0 && !r.killed && !strings.Contains(r.stderr, v.fault.words()):
		v.wrong("exit %d, and stderr does not name the cause: %q", r.code, r.stderr)
	}
}

// same compares two lists of letters in order.
func (v *verdict) same(what string, got, want []letter) {
	if !slices.Equal(got, want) {
		v.wrong("%s: %s, want %s", what, ids(got), ids(want))
	}
}

func ids(list []letter) string {
	var all []string
	for _, l := range list {
		all = append(all, l.ID)
	}
	if n := len(all); n > 8 {
		all = append(append(slices.Clone(all[:4]), "…"), all[n-3:]...)
	}
	return fmt.Sprintf("%d %v", len(list), all)
}

// clean reports files that a successful write should have removed, except those whose name contains
// one of the texts in spared.
func (v *verdict) clean(damaged bool, spared ...string) {
	tree, err := v.read("root", "home", "project")
	if err != nil {
		v.wrong("%v", err)
	}
	left := slices.DeleteFunc(litter(tree, damaged), func(name string) bool {
		return slices.ContainsFunc(spared, func(part string) bool { return strings.Contains(name, part) })
	})
	if len(left) > 0 {
		v.wrong("litter: %q", left)
	}
}

// settled reads the waiting mail. Then every message must be in the archive exactly once, in order.
// After one more message no leftover files may exist.
func (v *verdict) settled(s *scenario, as, alias string, offered, all []letter) {
	v.same("read afterwards", v.letters(as, "c2c", "poll-inbox", "--json"), offered)
	v.same("archive", v.archived(as), append(slices.Clone(v.gone), all...))
	v.same("waiting after a read", v.waiting(as), []letter{})
	v.must("birch", "c2c", "send", alias, "last")
	v.must(as, "c2c", "poll-inbox")
	v.clean(s.damaged)
}

// checkSend checks that an acknowledged message is stored exactly once and a refused one at most
// once, and that a retry completes the send.
func (s *scenario) checkSend(v *verdict, body string) {
	sent := append(slices.Clone(v.mail), letter{"new", body})
	now := v.waiting("amber")
	switch {
	case slices.Equal(now, sent):
		if v.run.code != 0 && !v.run.killed && v.fault.isSync() && !strings.Contains(v.run.stderr, "may be stored") {
			v.wrong("stored, and stderr reads like a refusal: %q", v.run.stderr)
		}
	case v.run.code == 0 && !v.run.killed:
		v.same("acknowledged, but waiting", now, sent)
	default:
		v.same("waiting after a failed send", now, v.mail)
	}
	if v.run.code == 0 && v.run.hit && v.fault.isSync() {
		v.wrong("acknowledged without the sync")
	}
	v.must(s.as, s.command...)
	v.same("waiting after a retry", v.waiting("amber"), sent)
	v.settled(s, "amber", "amber", sent, sent)
}

// checkRead checks that messages that were not shown and acknowledged are offered again, and that
// no message is in the archive twice.
func (s *scenario) checkRead(v *verdict) {
	waiting := v.waiting("amber")
	var left, read []letter
	for _, l := range v.mail {
		shown := s.shows(v.run.stdout, l.ID)
		if slices.Contains(waiting, l) {
			left = append(left, l)
		} else if state := v.state(l.ID); state != "read" {
			v.wrong("%s is %q, and not waiting", l.ID, state)
		} else if read = append(read, l); !shown {
			v.wrong("%s is read, and was not shown", l.ID)
		}
	}
	v.same("waiting", waiting, left)
	silent := !v.run.killed && v.run.code == 0 && v.run.stderr == ""
	if len(read) < s.reads(v.mail) && silent {
		v.wrong("%d messages were read, and no error mentions the others", len(read))
	}
	after := letter{"after", "after"}
	v.must("birch", "c2c", "send", "amber", "after", "--id", "after")
	all := append(slices.Clone(v.mail), after)
	if s.stdin == "" {
		v.settled(s, "amber", "amber", append(left, after), all)
		return
	}
	for range all { // a hook shows at least one message
		v.answer(s)
	}
	v.settled(s, "amber", "amber", []letter{}, all)
}

// answer runs a hook again.
func (v *verdict) answer(s *scenario) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if out, err := v.command(ctx, s.as, s.stdin, v.program(s.command)...).Output(); err != nil {
		v.wrong("afterwards: %v: %s", err, out)
	}
}
