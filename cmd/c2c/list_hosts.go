package main

import (
	"errors"
	"fmt"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// showHosts prints the list of sessions, and then the paired machines, with the sessions that c2c
// knows there.
func (c *call) showHosts(rows []sessions.Listed, hosts []broker.Host, all bool) error {
	var broken []error // outboxes that could not be read
	for _, h := range hosts {
		if h.Error != "" {
			broken = append(broken, fmt.Errorf("read the outbox for %s: %s", h.Name, h.Error))
		}
	}
	answer := struct {
		Sessions []sessions.Listed `json:"sessions"`
		Hosts    []hostRow         `json:"hosts"`
	}{rows, []hostRow{}}
	for _, h := range hosts {
		answer.Hosts = append(answer.Hosts, rowOf(h))
	}
	return errors.Join(append(broken, c.show(answer, func() {
		now := time.Now()
		c.printList(rows, all, "c2c list --all", now)
		for _, h := range hosts {
			c.printHost(h, now)
		}
		if len(hosts) == 0 {
			c.printf("(no paired machines; c2c help relay says how to pair one)\n")
		}
	}))...)
}

// hostRow is a machine in the list, for programs.
type hostRow struct {
	Name     string      `json:"host"`
	Linked   bool        `json:"linked"` // c2c is connected to the machine; with ByHub: the hub takes mail for the machine
	ByHub    bool        `json:"by_hub,omitempty"`
	Absent   bool        `json:"project_absent,omitempty"` // nobody on that machine has used c2c in this project
	SeenAt   time.Time   `json:"last_seen_at,omitzero"`
	Waiting  int         `json:"waiting_count,omitempty"`
	OldestAt time.Time   `json:"oldest_at,omitzero"`
	Trouble  string      `json:"trouble,omitempty"`
	Sessions []remoteRow `json:"sessions"`
}

type remoteRow struct {
	Alias  string `json:"alias"` // in the form alias@host, as a receiver's address has it
	Client string `json:"client,omitempty"`
	Now    string `json:"now,omitempty"` // the session's state, as its machine has last reported it
}

func rowOf(h broker.Host) hostRow {
	row := hostRow{Name: h.Name, Linked: h.Linked, ByHub: h.Hub, Absent: h.Absent, Waiting: h.Waiting, OldestAt: h.Oldest, Trouble: h.Trouble, Sessions: []remoteRow{}}
	if h.Seen > 0 {
		row.SeenAt = mail.FromSeconds(h.Seen).UTC()
	}
	for _, s := range h.Sessions {
		row.Sessions = append(row.Sessions, remoteRow{s.Alias + "@" + h.Name, s.Client, s.State})
	}
	return row
}

// printHost prints a line for a machine, and a line for each of its sessions.
func (c *call) printHost(h broker.Host, now time.Time) {
	line := broker.HostSentence(h.HeardHost, now)
	switch {
	case h.Waiting == 1:
		line += "; 1 message waits for it"
	case h.Waiting > 1:
		line += fmt.Sprintf("; %d messages wait for it", h.Waiting)
	}
	c.printf("\n%s\n", mail.Visible(line, ""))
	if h.Trouble != "" {
		c.printf("  trouble, %s: %s\n", clock(mail.FromSeconds(h.TroubleAt)), mail.Visible(h.Trouble, ""))
	}
	for _, s := range h.Sessions {
		c.printf("  %s  %s  %s\n", mail.Visible(s.Alias+"@"+h.Name, ""), mail.Visible(s.State, ""), mail.Visible(s.Client, ""))
	}
}
