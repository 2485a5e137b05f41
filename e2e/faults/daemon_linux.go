package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wasStopped makes the state in which one part of the daemon is on, which wakes the sessions of the
// root, and a person has stopped the daemon.
func wasStopped(p *place) error {
	err := p.pair()
	for _, words := range [][]string{{"c2cd", "wake", "start"}, {"c2cd", "daemon", "stop"}} {
		if err == nil {
			_, err = p.run("", words...)
		}
	}
	return errors.Join(err, p.idle())
}

// mayRun is wasStopped without the record that a person has stopped the daemon, as after a boot.
func mayRun(p *place) error {
	err := wasStopped(p)
	parts := p.path("home/.c2c/daemon/parts.json")
	data, rerr := os.ReadFile(parts)
	before, _, found := strings.Cut(string(data), `,
  {
    "part": "daemon"`)
	if !found {
		rerr = errors.Join(rerr, fmt.Errorf("the daemon was not stopped: %s", data))
	}
	return errors.Join(err, rerr, os.WriteFile(parts, []byte(before+"\n]\n"), 0o600))
}

// running starts the daemon before the command.
func running(p *place) (func() error, error) {
	_, err := p.run("", "c2cd", "daemon", "start")
	return func() error { return nil }, err
}

// daemons are scenarios with the daemon. In those with the verb run it is the daemon that gets the
// fault. In the last one it executes its program anew, and then gets no fault any more.
func daemons() (all []*scenario) {
	add := func(verb, then string, prepare func(*place) error, beside func(*place) (func() error, error), acknowledged bool) {
		s := &scenario{name: "daemon " + verb + then, command: []string{"c2cd", "daemon", verb}, prepare: prepare, beside: beside, starts: true}
		s.check = func(v *verdict) {
			if v.run.beside != nil {
				v.wrong("the other process: %v", v.run.beside)
			}
			if v.run.code == 0 && !v.run.killed && (v.daemon() != 0) != acknowledged {
				v.wrong("acknowledged, and that the daemon runs is %v", !acknowledged)
			}
			if verb != "run" {
				v.must("", s.command...)
			}
			v.must("", "c2cd", "daemon", "start")
			if v.daemon() == 0 {
				v.wrong("it does not run after a start")
			}
			v.must("", "c2cd", "daemon", "stop")
			if err := v.idle(); err != nil {
				v.wrong("%v", err)
			}
			if out := v.must("", "c2cd", "daemon", "start"); !strings.Contains(out, "runs") {
				v.wrong("the part is gone: %s", out)
			}
			v.must("", "c2cd", "daemon", "stop")
			v.clean(false)
		}
		all = append(all, s)
	}
	add("start", "", wasStopped, nil, true)
	add("stop", "", wasStopped, running, false)
	add("restart", "", wasStopped, running, true)
	add("run", ", then stop", mayRun, toldTo("stop"), false)
	add("run", ", then restart", mayRun, toldTo("restart", "stop"), false)
	return all
}

// toldTo runs verbs of c2cd daemon as soon as the daemon runs which the command is.
func toldTo(verbs ...string) func(p *place) (func() error, error) {
	return func(p *place) (func() error, error) {
		over, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				if out, err := p.run("", "c2cd", "daemon", "status"); err == nil && strings.Contains(out, ": runs") {
					break
				}
				select {
				case <-over: // it was killed before
					ended <- nil
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
			var err error
			for _, verb := range verbs {
				if err == nil {
					_, err = p.run("", "c2cd", "daemon", verb)
				}
			}
			ended <- err
		}()
		return func() error {
			close(over)
			return <-ended
		}, nil
	}
}

// daemon returns the process id of the daemon; 0 if none runs.
func (v *verdict) daemon() int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, _ := v.command(ctx, "", "", v.program([]string{"c2cd", "daemon", "status", "--json"})...).Output() // it fails if none runs
	var status struct{ PID int }
	if err := json.Unmarshal(out, &status); err != nil {
		v.wrong("daemon status: %v: %s", err, out)
	}
	return status.PID
}

// fresh ends what the command of a scenario has started, and makes the state before the command.
func (p *place) fresh(s *scenario) error {
	if s.starts {
		if _, err := p.run("", "c2cd", "daemon", "stop"); err != nil {
			return err
		}
		if err := p.idle(); err != nil {
			return err
		}
	}
	return p.restore(p.before)
}

// idle waits until no process of this place runs any more, such as a daemon that was just starting.
func (p *place) idle() error {
	mark := "\x00HOME=" + p.path("home") + "\x00"
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		environs, err := filepath.Glob("/proc/[0-9]*/environ")
		var left []string
		for _, path := range environs {
			if data, err := os.ReadFile(path); err == nil && strings.Contains("\x00"+string(data), mark) {
				words, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
				left = append(left, filepath.Dir(path)+" "+strings.ReplaceAll(string(words), "\x00", " "))
			}
		}
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("these processes go on: %q", left)
		}
	}
}
