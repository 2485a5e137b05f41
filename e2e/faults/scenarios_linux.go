package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// scenario is a command, the state in which it runs, and the checks that must hold whichever call
// fails.
type scenario struct {
	name    string
	as      string // the session that runs the command
	command []string
	stdin   string
	damaged bool // c2c may set a copy of a damaged file aside
	starts  bool // the command starts a process that outlives it, which gets no fault
	syncs   bool // the command may succeed only after a sync, whatever it finds on the disk
	prepare func(*place) error
	beside  func(*place) (wait func() error, err error) // starts another process that works at the same time; nil: none
	check   func(*verdict)

	shows func(stdout, id string) bool // for commands that read mail: reports whether the output shows the message
	reads func(mail []letter) int      // for commands that read mail: how many messages a run without a fault reads
}

// newBody is so long that a nearly full inbox has no room for it.
var newBody = strings.Repeat("new ", 1500)

func scenarios() []*scenario {
	// The scenario that takes longest comes first.
	return slices.Concat(daemons(), crowds(), sends(), polls(), hooks(), registers(), sweeps(), rooms(), projects(), installs())
}

// pair registers the two sessions that most scenarios use.
func (p *place) pair() error {
	return p.steps(": c2c register amber --session-id amber", ": c2c register birch --session-id birch")
}

// send lets birch send count messages of a size.
func (p *place) send(to string, count, size int) error {
	for i := range count {
		id := fmt.Sprintf("m-%d", i)
		if _, err := p.run("birch", "c2c", "send", to, "--id", id, id+strings.Repeat("w", size)); err != nil {
			return err
		}
	}
	return nil
}

// sendLong lets birch send a message that is too long for a command line.
func (p *place) sendLong(to, id string, size int) error {
	cmd := p.command(context.Background(), "birch", strings.Repeat("l", size), p.program([]string{"c2c", "send", to, "--id", id, "-"})...)
	return cmd.Run()
}

// note records which mail waits for a session, and which mail it has read.
func (p *place) note(as string) error {
	v := &verdict{place: p}
	p.mail, p.gone = v.waiting(as), v.archived(as)
	if len(v.found) > 0 {
		return fmt.Errorf("%s", strings.Join(v.found, "; "))
	}
	return nil
}

// waits makes the state in which count messages of a size wait for amber, and then applies more.
func waits(count, size int, more ...func(*place) error) func(*place) error {
	return func(p *place) error {
		err := p.pair()
		if err == nil {
			err = p.send("amber", count, size)
		}
		for _, f := range more {
			if err == nil {
				err = f(p)
			}
		}
		if err != nil {
			return err
		}
		return p.note("amber")
	}
}

// archiveIsFull makes the state in which the archive is longer than 1 MiB, so that the next ack
// rotates it.
func archiveIsFull(p *place) error {
	if err := p.pair(); err != nil {
		return err
	}
	for i := range 11 {
		if err := p.sendLong("amber", fmt.Sprintf("old-%d", i), 100_000); err != nil {
			return err
		}
	}
	return errors.Join(p.steps("amber: c2c poll-inbox"), p.send("amber", 3, 100), p.note("amber"))
}

// tear cuts off the end of a file, as a power cut may if a writer does not sync.
func tear(name string) func(*place) error {
	return func(p *place) error {
		found, err := filepath.Glob(p.path(name))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%s: %d files, %v", name, len(found), err)
		}
		info, err := os.Stat(found[0])
		if err != nil {
			return err
		}
		return os.Truncate(found[0], info.Size()-20)
	}
}

func sends() (all []*scenario) {
	states := map[string]func(*place) error{
		"send, the first":                 waits(0, 0),
		"send, to an emptied inbox":       waits(1, 10, func(p *place) error { return p.steps("amber: c2c poll-inbox") }),
		"send, behind waiting mail":       waits(3, 100),
		"send, past the end of the inbox": waits(7, 8000),
		"send, behind older files":        waits(9, 8000),
		"send, to a torn inbox":           waits(3, 100, tear("root/amber.inbox.json")),
	}
	for name, prepare := range states {
		all = append(all, sending(name, newBody, prepare))
	}
	// The text is longer than an inbox may be, so the message gets a file of its own.
	long := strings.Repeat("long ", 14_000)
	all = append(all, sending("send, a long message", long, waits(3, 100)))
	all = append(all, sending("send, an id that another sender has used", newBody, waits(3, 100, func(p *place) error {
		return p.steps(": c2c register coral --session-id coral", "coral: c2c send amber --id new other")
	})))
	again := sending("send, again after one that was killed before its sync", newBody, nil)
	again.prepare = func(p *place) error {
		err := waits(3, 100)(p)
		if err == nil {
			_, err = p.run(again.as, again.command...)
		}
		return err
	}
	return sorted(append(all, again))
}

func sending(name, body string, prepare func(*place) error) *scenario {
	s := &scenario{name: name, as: "birch", command: []string{"c2c", "send", "amber", "--id", "new", body},
		damaged: strings.Contains(name, "torn"), syncs: true, prepare: prepare}
	s.check = func(v *verdict) { s.checkSend(v, body) }
	return s
}

func sorted(all []*scenario) []*scenario {
	slices.SortFunc(all, func(a, b *scenario) int { return strings.Compare(a.name, b.name) })
	return all
}

// everything is the function scenario.reads for poll-inbox, which reads all messages.
func everything(mail []letter) int { return len(mail) }

func polls() (all []*scenario) {
	// If it cannot print the mail, poll-inbox gives the mail back to the mailbox, as a file in the
	// lease directory.
	give := func(p *place) error {
		cmd := p.command(context.Background(), "amber", "", "sh", "-c", p.bin+"/c2c poll-inbox >/dev/full; c2c send --from birch amber --id late late")
		return cmd.Run()
	}
	states := map[string]func(*place) error{
		"poll-inbox, short":           waits(3, 100),
		"poll-inbox, of older files":  waits(9, 8000),
		"poll-inbox, torn older file": waits(9, 8000, tear("root/amber.lease/00000001-7-*")),
		"poll-inbox, mail given back": waits(3, 100, give),
		"poll-inbox, torn inbox":      waits(3, 100, tear("root/amber.inbox.json")),
		"poll-inbox, archive is full": archiveIsFull,
		"poll-inbox, read in part":    readInPart,
	}
	for name, prepare := range states {
		s := &scenario{name: name, as: "amber", command: []string{"c2c", "poll-inbox", "--json"}, prepare: prepare,
			damaged: strings.Contains(name, "torn"), reads: everything}
		s.shows = func(stdout, id string) bool {
			var list []letter
			return json.Unmarshal([]byte(stdout), &list) == nil && slices.ContainsFunc(list, func(l letter) bool { return l.ID == id })
		}
		s.check = s.checkRead
		all = append(all, s)
	}
	text := &scenario{name: "poll-inbox, as text", as: "amber", command: []string{"c2c", "poll-inbox"}, prepare: waits(3, 100), reads: everything}
	text.shows = func(stdout, id string) bool {
		_, rest, found := strings.Cut(stdout, `id="`+id+`"`)
		return found && strings.Contains(rest, "</c2c>\n")
	}
	text.check = text.checkRead
	return sorted(append(all, text))
}

// readInPart makes the state in which a hook has shown a part of the waiting mail, and could not
// write the archive.
func readInPart(p *place) error {
	if err := p.pair(); err != nil {
		return err
	}
	obstacle := p.path("root/archive/amber.lock")
	if err := errors.Join(p.send("amber", 5, 3000), p.note("amber"), os.MkdirAll(obstacle, 0o700)); err != nil {
		return err
	}
	cmd := p.command(context.Background(), "amber", toolEvent, p.program([]string{"c2c", "hook"})...)
	if err := errors.Join(cmd.Run(), os.Remove(obstacle)); err != nil {
		return err
	}
	all := p.mail
	err := p.note("amber")
	p.gone = all[:len(all)-len(p.mail)]
	if found, _ := filepath.Glob(p.path("root/amber.lease/part-*")); len(found) != 1 || len(p.gone) == 0 || len(p.mail) == 0 {
		return errors.Join(err, fmt.Errorf("read %d, waiting %d, in %q", len(p.gone), len(p.mail), found))
	}
	return err
}

const toolEvent = `{"hook_event_name":"PostToolUse","session_id":"client-1","tool_name":"Bash"}`

func hooks() (all []*scenario) {
	met := func(count, size int) func(*place) error {
		return func(p *place) error {
			err := p.pair()
			if err == nil {
				cmd := p.command(context.Background(), "amber", toolEvent, p.program([]string{"c2c", "hook"})...)
				err = cmd.Run()
			}
			if err == nil {
				err = p.send("amber", count, size)
			}
			return errors.Join(err, p.note("amber"))
		}
	}
	for _, state := range []struct {
		name    string
		prepare func(*place) error
		reads   int
	}{
		{"hook, first event of a session", waits(3, 100), 3},
		{"hook, more than it can show", met(5, 3000), 2},
		{"hook, long backlog", met(40, 2000), 4},
	} {
		s := &scenario{name: state.name, as: "amber", command: []string{"c2c", "hook"}, stdin: toolEvent, prepare: state.prepare,
			reads: func([]letter) int { return state.reads }}
		s.shows = func(stdout, id string) bool {
			return json.Valid([]byte(stdout)) && strings.Contains(stdout, ` id=\"`+id+`\"`)
		}
		s.check = s.checkRead
		all = append(all, s)
	}
	return all
}
