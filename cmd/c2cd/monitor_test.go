package main

import (
	"bufio"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// monitored is a monitor that runs, and its lines.
type monitored struct {
	t     *testing.T
	lines *bufio.Reader
	out   io.Closer
	wait  func() error
	stop  func()
}

func (k *keeper) monitor(args ...string) *monitored {
	k.t.Helper()
	cmd := k.command(append([]string{"monitor"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { cmd.Process.Kill() })
	return &monitored{k.t, bufio.NewReader(out), out, cmd.Wait, func() { cmd.Process.Signal(syscall.SIGTERM) }}
}

func (m *monitored) line() string {
	m.t.Helper()
	line, err := m.lines.ReadString('\n')
	if err != nil {
		m.t.Fatal(err)
	}
	return line
}

var changing = regexp.MustCompile(`"(monitor_ts|ts|due)":"?[0-9.]+"?|\[\d\d:\d\d:\d\d\]`)

// event is a line of JSON without what differs from run to run.
func (m *monitored) event() string {
	m.t.Helper()
	line := m.line()
	if !json.Valid([]byte(line)) {
		m.t.Errorf("no JSON: %s", line)
	}
	return strings.TrimSpace(changing.ReplaceAllString(line, `"$1":0`))
}

func TestMonitorWritesTheOriginalsJSON(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	k.run("register", "amber", "--session-id", "amber")
	m := k.monitor("--json")
	want := func(events ...string) {
		t.Helper()
		for _, event := range events {
			if got := m.event(); got != event {
				t.Fatalf("event\n%s, want\n%s", got, event)
			}
		}
	}
	want(`{"event_type":"monitor.ready","monitor_ts":0}`)
	k.run("register", "birch", "--session-id", "birch")
	want(`{"event_type":"peer.alive","monitor_ts":0,"alias":"birch","session_id":"birch","reason":"unknown"}`)
	k.run("send", "--from", "birch", "amber", "--id", "m-1", "--kind", "task", "one\ntwo")
	want(`{"event_type":"message","monitor_ts":0,"from_alias":"birch","to_alias":"amber","content":"one\ntwo","ts":0,"message_id":"m-1","kind":"task","from_session":"birch","known_by":"claimed","due":0,"action_required":true,"reply_required":true,"bucket":"normal"}`)
	k.run("poll-inbox", "--session-id", "amber")
	event := m.event()
	for strings.Contains(event, `"message.handed"`) { // it may be seen in hand first
		event = m.event()
	}
	if want := `{"event_type":"message.read","monitor_ts":0,"from_alias":"birch","to_alias":"amber","message_id":"m-1","session_id":"amber","by":"cli_poll"}`; event != want {
		t.Fatalf("event\n%s, want\n%s", event, want)
	}
	m.stop()
	if err := m.wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// Nobody reads any more: the monitor ends by itself, though nothing happens.
func TestMonitorEndsWithItsReader(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	k.run("register", "amber", "--session-id", "amber")
	m := k.monitor("--json")
	m.line()
	m.out.Close()
	if err := m.wait(); err != nil {
		t.Error(err)
	}
}
