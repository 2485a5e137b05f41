package broker_test

import (
	"c2c/client"
	"c2c/sessions"
)

// table is a process table in memory; the test itself is process 100, child of 90.
type table map[int]sessions.Process

func (t table) Self() int { return 100 }

func (t table) Environ(int) []string { return nil }

func (t table) Namespace() string { return "pid:[1]" }

func (t table) Opened(client.Profile, int) (map[string]bool, bool) { return nil, false }

func (t table) Find(pid int) (sessions.Process, error) {
	if p, ok := t[pid]; ok {
		return p, nil
	}
	return sessions.Process{}, sessions.ErrNoProcess
}
