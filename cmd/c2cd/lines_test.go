package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"c2c/inbox/mail"
	"c2c/serve/live"
	"c2c/wake"
)

var monitorChanging = regexp.MustCompile(`"(monitor_ts|ts|due)":"?[0-9.]+"?|\[\d\d:\d\d:\d\d\]`)

func TestEachEventIsALine(t *testing.T) {
	t.Parallel()
	mail := func(what, from, to, body string) live.Event {
		return live.Event{What: what, SessionID: "s-" + to, Alias: to, Message: mail.Message{From: from, To: to, Content: body, ID: "m-1"}}
	}
	events := []live.Event{
		mail(live.Stored, "birch", "amber", "two\nlines \x1b[31m"+strings.Repeat(" é", 40)), mail(live.Stored, "amber", "birch", "own"),
		mail(live.Leased, "birch", "amber", ""), mail(live.Archived, "birch", "amber", "two"),
		{What: live.Came, Alias: "cedar", Why: "idle"}, {What: live.Went, Alias: "cedar"}, {What: live.Changed, Alias: "cedar", Why: "busy"},
		{What: live.Rung, Alias: "cedar", Ring: wake.Ring{Outcome: wake.Rang, Method: "socket"}},
		{What: live.NotRung, Alias: "cedar", Ring: wake.Ring{Outcome: wake.Held, Cause: "its person is asked"}},
		mail(live.Posted, "birch", "#review", "@amber, look"), {What: live.Damaged, SessionID: "s-amber", Why: "x"},
	}
	peers := "T 🟢  PEER   cedar (idle)\nT 🔴  PEER   cedar (not registered any more)\n"
	short := `"two lines \u001b[31m` + strings.Repeat(" é", 21) + ` …"` + "\n"
	damage := "T mailbox of s-amber is damaged: x\n"
	for _, c := range []struct {
		name string
		m    monitorLines
		want string
	}{
		{"all", monitorLines{}, "T 📬  birch→amber  " + short + "T 📬  amber→birch  \"own\"\nT birch→amber  m-1 handed\nT birch→amber  m-1 read\n" + peers +
			"T cedar is busy\nT cedar: was rung by socket\nT cedar: was not rung: held, its person is asked\nT 💬  birch→#review  \"@amber, look\"\n" + damage},
		{"one session's", monitorLines{Alias: "amber"}, "T 📬  birch→you  " + short + peers + damage},
		{"of a mailbox without a session", monitorLines{Alias: "s-amber"}, "T 📬  birch→you  " + short + peers + damage},
	} {
		var out bytes.Buffer
		c.m.Out = &out
		for _, e := range events {
			if err := c.m.Tell(e); err != nil {
				t.Fatal(err)
			}
		}
		if got := monitorChanging.ReplaceAllString(out.String(), "T"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestMailFromOutsideIsSaidToBe(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := monitorLines{Out: &out}
	if err := m.Tell(live.Event{What: live.Stored, Message: mail.Message{From: "external-ci", To: "amber", Content: "red", External: true}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "external-ci (outside)→amber  \"red\"") {
		t.Error(out.String())
	}
}
