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

// A daemon has the lock file of this place, and one part: it wakes the sessions of the root.

// withPart makes the state in which a part of the daemon is on, and the daemon was stopped.
func withPart(p *place) error {
	err := p.pair()
	for _, words := range [][]string{{"c2cd", "wake", "start"}, {"c2cd", "daemon", "stop"}} {
		if err == nil {
			_, err = p.run("", words...)
		}
	}
	return errors.Join(err, p.idle())
}

// running starts the daemon before the command.
func running(p *place) (func() error, error) {
	_, err := p.run("", "c2cd", "daemon", "start")
	return func() error { return nil }, err
}

// daemons are scenarios with the daemon. Only in the last one is it the daemon that gets the fault.
func daemons() (all []*scenario) {
	add := func(verb string, beside func(*place) (func() error, error), acknowledged bool) {
		s := &scenario{name: "daemon " + verb, command: []string{"c2cd", "daemon", verb}, prepare: withPart, beside: beside, starts: true}
		s.check = func(v *verdict) {
			if v.run.beside != nil {
				v.wrong("the other process: %v", v.run.beside)
			}
			if v.run.code == 0 && !v.run.killed && v.daemonRuns() != acknowledged {
				v.wrong("acknowledged, and that the daemon runs is %v", !acknowledged)
			}
			if verb != "run" {
				v.must("", s.command...)
			}
			v.must("", "c2cd", "daemon", "start")
			if !v.daemonRuns() {
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
	add("start", nil, true)
	add("stop", running, false)
	add("restart", running, true)
	add("run", stopped, false)
	return all
}

// stopped stops the daemon that the command is, as soon as it runs.
func stopped(p *place) (func() error, error) {
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
		_, err := p.run("", "c2cd", "daemon", "stop")
		ended <- err
	}()
	return func() error {
		close(over)
		return <-ended
	}, nil
}

func (v *verdict) daemonRuns() bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, _ := v.command(ctx, "", "", v.program([]string{"c2cd", "daemon", "status", "--json"})...).Output() // it fails if none runs
	var status struct{ PID int }
	if err := json.Unmarshal(out, &status); err != nil {
		v.wrong("daemon status: %v: %s", err, out)
	}
	return status.PID != 0
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
		left := 0
		for _, path := range environs {
			if data, err := os.ReadFile(path); err == nil && strings.Contains("\x00"+string(data), mark) {
				left++
			}
		}
		if err != nil || left == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes go on", left)
		}
	}
}
