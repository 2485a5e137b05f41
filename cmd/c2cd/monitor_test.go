package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"c2c/inbox/mail"
	"c2c/live"
	"c2c/wake"
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
	m := k.monitor("--json", "--drains")
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
	want(`{"event_type":"message","monitor_ts":0,"from_alias":"birch","to_alias":"amber","content":"one\ntwo","ts":0,"message_id":"m-1","kind":"task","from_session":"birch","due":0,"action_required":true,"reply_required":true,"bucket":"normal"}`)
	k.run("poll-inbox", "--session-id", "amber")
	event := m.event()
	for strings.Contains(event, `"message.handed"`) { // it may be seen in hand first
		event = m.event()
	}
	if want := `{"event_type":"message.read","monitor_ts":0,"from_alias":"birch","to_alias":"amber","message_id":"m-1","session_id":"amber","by":"cli_poll"}`; event != want {
		t.Fatalf("event\n%s, want\n%s", event, want)
	}
	want(`{"event_type":"drain","monitor_ts":0,"alias":"amber","session_id":"amber"}`)
	m.stop()
	if err := m.wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func TestMonitorWritesALineForEachEvent(t *testing.T) {
	t.Parallel()
	mail := func(what, from, to, body string) live.Event {
		return live.Event{What: what, SessionID: "s-" + to, Alias: to, Message: mail.Message{From: from, To: to, Content: body, ID: "m-1"}}
	}
	events := []live.Event{
		mail(live.Stored, "birch", "amber", "two\nlines \x1b[31m"+strings.Repeat(" é", 40)), mail(live.Stored, "amber", "birch", "own"),
		mail(live.Handed, "birch", "amber", ""), mail(live.Read, "birch", "amber", "two"),
		{What: live.Came, Alias: "cedar", Why: "idle"}, {What: live.Went, Alias: "cedar"}, {What: live.Changed, Alias: "cedar", Why: "busy"},
		{What: live.Rung, Alias: "cedar", Ring: wake.Ring{Outcome: wake.Rang, Method: "socket"}},
		{What: live.NotRung, Alias: "cedar", Ring: wake.Ring{Outcome: wake.Held, Cause: "its person is asked"}},
		{What: live.Drained, Alias: "amber"}, {What: live.Damaged, SessionID: "s-amber", Why: "x"},
	}
	peers := "T 🟢  PEER   cedar (idle)\nT 🔴  PEER   cedar (not registered any more)\n"
	short := `"two lines \u001b[31m` + strings.Repeat(" é", 21) + ` …"` + "\n"
	damage := "T mailbox of s-amber is damaged: x\n"
	for _, c := range []struct {
		name string
		m    monitor
		want string
	}{
		{"all", monitor{drains: true}, "T 📬  birch→amber  " + short + "T 📬  amber→birch  \"own\"\nT birch→amber  m-1 handed\nT birch→amber  m-1 read\n" + peers +
			"T cedar is busy\nT cedar: was rung by socket\nT cedar: was not rung: held, its person is asked\nT 📤  DRAIN  amber (inbox cleared)\n" + damage},
		{"one session's", monitor{alias: "amber"}, "T 📬  birch→you  " + short + peers + damage},
		{"of a mailbox without a session", monitor{alias: "s-amber"}, "T 📬  birch→you  " + short + peers + damage},
		{"its own, too, whole", monitor{alias: "amber", self: true, all: true, full: true, from: "amber"}, "T 💬  amber→birch  \"own\"\n" + peers +
			"T cedar is busy\nT cedar: was rung by socket\nT cedar: was not rung: held, its person is asked\n" + damage},
		{"what is read", monitor{alias: "amber", read: true, full: true}, "T 📬  birch→you  \"two\"\n" + peers + damage},
	} {
		var out bytes.Buffer
		c.m.out = &out
		for _, e := range events {
			if err := c.m.tell(e); err != nil {
				t.Fatal(err)
			}
		}
		if got := changing.ReplaceAllString(out.String(), "T"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
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

func TestMonitorSaysThatMailIsFromOutside(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := monitor{out: &out}
	if err := m.tell(live.Event{What: live.Stored, Message: mail.Message{From: "external-ci", To: "amber", Content: "red", External: true}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "external-ci (outside)→amber  \"red\"") {
		t.Error(out.String())
	}
}
