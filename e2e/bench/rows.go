package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	replaceWords = "Go program with one durable replace"
	emptyWords   = "empty Go program"
	grepWords    = "grep -riF over the root"
)

// rows returns all measurements, each with its aim.
func rows() []row {
	return slices.Concat(startRows(), waitingRows(), archiveRows(), sessionRows(), crowdRows(), mcpRows(), askRows(), ringRows(),
		terminalRows(), idleRows(), relayRows())
}

// startRows measure whole processes that do little, and the sizes of the programs.
func startRows() []row {
	return []row{
		{name: "c2c version", do: c2c("version"), limit: emptyWords, against: empty},
		{name: "c2c hook, empty mailbox", do: emptied("birch", c2c("hook")), limit: emptyWords, against: empty, aim: 1.5,
			reason: "a Go program that only imports os takes 1.17 times an empty one, with fmt and encoding/json 1.23: each page that is " +
				"touched for the first time costs 1.5 µs. A client runs the hook script, which starts no hook for an empty mailbox"},
		{name: "c2c hook with mail", do: hookWithMail, limit: replaceWords, against: replace, aim: 2},
		{name: "hook script, empty mailbox", do: func(w *world) ([]float64, error) { return one(w.time(w.script())) }, limit: "sh -c :",
			against: func(w *world) ([]float64, error) { return one(w.time("sh", "-c", ":")) }, aim: 2},
		{name: "c2c send", do: emptied("amber", c2c("send", "amber", "hello")), limit: replaceWords, against: replace, aim: 1.2,
			beside: otherSend, patience: 15 * time.Second},
		{name: "c2c send to a room of 50", do: postsToRoom, limit: "c2c send",
			against: emptied("amber", c2c("send", "amber", "hello")), aim: 1.3, patience: 15 * time.Second},
		// The disk's noise hides a send that has become slower by a tenth. The CPU time shows it.
		// The aim is the time that a send takes now, plus 4 %.
		{name: "c2c send, CPU time", do: emptied("amber", cpuOf("c2c", "send", "amber", "hello")), limit: "of one durable replace",
			against: func(w *world) ([]float64, error) { return cpuOf("replace", w.root)(w) }, aim: 1.54, patience: 15 * time.Second},
		{name: "c2c send, undrained mailbox", do: c2c("send", "amber", "hello"), limit: replaceWords, against: replace, aim: 1.2,
			reason: "c2c writes an inbox of up to 60 KiB anew with each message, and it starts more slowly than the small program"},
		{name: "c2c send --id", do: emptied("amber", withID("amber")), limit: replaceWords, against: replace, aim: 1.4},
		{name: "c2c reply", anew: beforeLoop, do: reply, limit: replaceWords, against: replace, aim: 1.4},
		{name: "c2c poll-inbox --check", do: emptied("amber", check("amber")), limit: emptyWords, against: empty, aim: 1.5},
		{name: "c2c, size", unit: "MB", do: size("c2c"), aim: 3.6, most: 1,
			reason: "encoding/json and reflect take some 440 kB; the rest is the verbs that agents and people call all day"},
		{name: "c2cd, size", unit: "MB", do: size("c2cd"), aim: 13, most: 1,
			reason: "the rare verbs that c2c hands to it take 63 kB"},
	}
}

// waitingRows measure commands in a root with nearly as much waiting mail as c2c allows.
func waitingRows() []row {
	send := c2c("send", "cedar", "hello")
	lookAt := c2c("status", "newest")
	return []row{
		{name: "c2c send, 19,900 waiting", root: full, anew: 40, do: send, limit: "the same, 0 waiting", against: inZero("cedar", send), aim: 1.1,
			beside: otherSend,
			reason: "half of the time is for the inbox, which is written anew with each unread message and is empty in the other root; the other half is for the names of 133 files"},
		{name: "c2c send, 19,900 waiting", root: full, anew: 40, do: send, limit: replaceWords, against: replace, aim: 1.3,
			reason: "the same as for a send to an undrained mailbox; it also lists the names of 133 files"},
		{name: "c2c list, 19,400 waiting", root: nearlyFull, do: c2c("list"), limit: emptyWords, against: empty, aim: 2.5},
		{name: "c2c status, 19,400 waiting", root: nearlyFull, do: lookAt, limit: emptyWords, against: empty, aim: 2.5},
		{name: "c2c outbox, 19,400 waiting", root: nearlyFull, do: c2c("outbox"), limit: emptyWords, against: empty, aim: 4},
		{name: "c2c poll-inbox --check, 19,400 waiting", root: nearlyFull, do: check("cedar"), limit: emptyWords, against: empty, aim: 1.7},
		{name: "c2c send --id, 19,400 waiting", root: nearlyFull, anew: 500, do: withID("cedar"), limit: replaceWords, against: replace, aim: 2.4,
			reason: "it looks for the id in each of the numbered files of the mailbox"},
		{name: "c2c send --id, 19,400 waiting", root: nearlyFull, anew: 500, do: withID("cedar"), limit: "the same, 0 waiting",
			against: inZero("cedar", withID("cedar")), aim: 2},
		{name: "one of 32 x c2c send --id at once, 19,400 waiting", root: nearlyFull, most: 15, do: atOnceAll(32, sendsID),
			limit: "one of 32 x replace", against: atOnceAll(32, replaces), aim: 2},
		{name: "c2c poll-inbox, 10,000 waiting", root: some, anew: 1, most: 15, do: c2c("poll-inbox", "--session-id", "dune", "--json"),
			limit: "JSON decode, archive, 2 fsync", against: plainDrain, aim: 1.5,
			reason: "it is close to its aim: two of three runs on one day were below"},
	}
}

// archiveRows measure commands that search a long archive.
func archiveRows() []row {
	grep := func(w *world) ([]float64, error) { return one(w.time("grep", "-riF", oldWord, w.root)) }
	send := withID("cedar")
	return []row{
		{name: "c2c send --id, 60 MB archive", root: long, do: emptied("cedar", send), limit: replaceWords, against: replace, aim: 2.4},
		{name: "c2c send --id, 60 MB archive", root: long, do: emptied("cedar", send), limit: "the same, no archive", against: inZero("cedar", send), aim: 2},
		{name: "c2c status <short id>, just sent, 100,000 archived", root: old, do: c2c("status", "newest short"), limit: emptyWords, against: empty, aim: 5},
		{name: "c2c status <short id>, the oldest of 100,000 archived", root: old, do: c2c("status", "oldest short"), limit: emptyWords, against: empty, aim: 5},
		{name: "c2c status <id>, the oldest of 100,000 archived", root: old, do: c2c("status", "oldest"), limit: emptyWords, against: empty, aim: 5},
		{name: "c2c search, 100,000 archived", root: old, do: c2c("search", oldWord, "--session-id", "ebony"), limit: grepWords, against: grep, aim: 1.5},
		{name: "c2c thread, 100,000 archived", root: old, do: c2c("thread", "oldest"), limit: grepWords, against: grep, aim: 1},
		{name: "c2c history, 100,000 archived", root: old, do: c2c("history", "--session-id", "ebony"), limit: emptyWords, against: empty, aim: 5},
	}
}

const facts = "every session has a file of facts, which is opened, and a process, which is looked up: 10 µs each"

// sessionRows measure what a large number of registered sessions costs each command.
func sessionRows() []row {
	list, hook, send := c2c("list"), emptied("birch", c2c("hook")), emptied("amber", c2c("send", "amber", "hello"))
	return []row{
		{name: "c2c list, 2 sessions", root: pair, do: list, limit: emptyWords, against: empty, aim: 2},
		{name: "c2c list, 392 sessions", root: crowd, do: list, limit: "the same, 5 sessions", against: inZero("", list), aim: 3, reason: facts},
		{name: "c2c list, 392 sessions", root: crowd, do: list, limit: emptyWords, against: empty, aim: 6, reason: facts},
		{name: "c2c hook, empty mailbox, 392 sessions", root: crowd, do: hook, limit: "the same, 5 sessions", against: inZero("", hook), aim: 1.1},
		{name: "c2c send, 392 sessions", root: crowd, do: send, limit: "the same, 5 sessions", against: inZero("", send), aim: 1.1},
	}
}

// crowdRows measure many senders to one mailbox.
func crowdRows() (all []row) {
	for _, c := range []struct {
		senders int
		aim     float64
	}{{1, 1.22}, {8, 1.16}} {
		name := fmt.Sprintf("%d senders, one message after the other, 0 lost", c.senders)
		all = append(all, row{name: name, unit: "msg/s", do: stream(c.senders, true), limit: "as many loops of replace",
			against: stream(c.senders, false), aim: c.aim, beside: otherStream(c.senders), patience: 12 * time.Second,
			reason: "to start c2c alone takes longer than the whole work of the limit, and the mailbox fills meanwhile: see the two rows of send"})
	}
	for _, n := range []int{8, 32, 100} {
		do, limit := emptied("amber", atOnceAll(n, sends)), atOnceAll(n, replaces)
		all = append(all, row{name: fmt.Sprintf("one of %d x c2c send at once", n), do: do, limit: fmt.Sprintf("one of %d x replace", n), against: limit, aim: 2},
			row{name: fmt.Sprintf("the slowest of %d x c2c send at once", n), do: slowest(do), limit: fmt.Sprintf("the slowest of %d x replace", n),
				against: slowest(limit), aim: 2})
	}
	return append(all, row{name: "the slowest of 32 x c2c send at once", do: slowest(emptied("amber", atOnceAll(32, sends))),
		limit: "of 32 x empty, and one replace", aim: 1.6,
		reason: "the 32 senders combine their commits into 6 to 13; without any commit they took 1.4 to 1.6 times the limit",
		against: func(w *world) ([]float64, error) {
			all, err := slowest(atOnceAll(32, func(w *world, _ int) []string { return []string{w.program("empty")} }))(w)
			if err != nil {
				return nil, err
			}
			last, err := replace(w)
			return []float64{all[0] + last[0]}, err
		}})
}

// beforeLoop is the number of rounds after which a row of questions and answers gets a new root,
// because c2c stops two sessions that only answer each other.
const beforeLoop = 15

// c2c runs a command. A word that names a message of the template stands for the message's id or
// short id.
func c2c(args ...string) action {
	return func(w *world) ([]float64, error) {
		words := slices.Clone(args)
		for i, word := range words {
			name, short := strings.CutSuffix(word, " short")
			if id := w.ids[name]; id != "" && short {
				words[i] = id[len(id)-8:]
			} else if id != "" {
				words[i] = id
			}
		}
		return one(w.time(w.program("c2c"), words...))
	}
}

func check(sid string) action { return c2c("poll-inbox", "--check", "--session-id", sid) }

// withID sends a message with a new id.
func withID(to string) action {
	return func(w *world) ([]float64, error) { return c2c("send", to, "--id", w.fresh(), "hello")(w) }
}

func (w *world) fresh() string { return fmt.Sprintf("fresh-%d", w.used.Add(1)) }

// emptied runs an action after it has emptied a mailbox.
func emptied(sid string, do action) action {
	return func(w *world) ([]float64, error) {
		if err := w.read(sid); err != nil {
			return nil, err
		}
		return do(w)
	}
}

// inZero runs an action in a root without waiting or archived mail. If sid is not empty, it first
// empties that mailbox.
func inZero(sid string, do action) action {
	if sid != "" {
		do = emptied(sid, do)
	}
	return func(w *world) ([]float64, error) { return do(w.zero()) }
}

func cpuOf(program string, args ...string) action {
	return func(w *world) ([]float64, error) {
		_, cpu, err := w.measured("birch", nil, w.program(program), args...)
		return []float64{cpu}, err
	}
}

func empty(w *world) ([]float64, error) { return one(w.time(w.program("empty"))) }

func replace(w *world) ([]float64, error) { return one(w.time(w.program("replace"), w.root)) }

func size(program string) action {
	return func(w *world) ([]float64, error) {
		info, err := os.Stat(w.program(program))
		if err != nil {
			return nil, err
		}
		return []float64{float64(info.Size()) / 1e6}, nil
	}
}

// hookWithMail runs a hook that hands over one message.
func hookWithMail(w *world) ([]float64, error) {
	word := w.fresh()
	if err := w.read("birch"); err != nil {
		return nil, err
	}
	if _, err := w.run("amber", nil, w.program("c2c"), "send", "birch", word); err != nil {
		return nil, err
	}
	var out strings.Builder
	ms, err := w.run("birch", &out, w.program("c2c"), "hook")
	if err == nil && !strings.Contains(out.String(), word) {
		err = fmt.Errorf("the hook did not hand over the message: %.200q", out.String())
	}
	return []float64{ms}, err
}

// reply answers a message that c2c has just handed over.
func reply(w *world) ([]float64, error) {
	if err := errors.Join(w.read("birch"), w.read("amber")); err != nil {
		return nil, err
	}
	if _, err := w.run("amber", nil, w.program("c2c"), "send", "birch", "a question"); err != nil {
		return nil, err
	}
	if err := w.read("birch"); err != nil {
		return nil, err
	}
	return one(w.time(w.program("c2c"), "reply", "an answer"))
}

// stream lets several senders send one message after the other. It returns milliseconds for each
// message.
func stream(senders int, c2c bool) action {
	each := 24 / senders
	return func(w *world) ([]float64, error) {
		argv := []string{w.program("replace"), w.root}
		if c2c {
			argv = []string{w.program("c2c"), "send", "amber", "hello"}
			if err := w.read("amber"); err != nil {
				return nil, err
			}
		}
		start := time.Now()
		if _, err := w.together(senders, each, func(int) []string { return argv }); err != nil {
			return nil, err
		}
		ms := since(start) / float64(each*senders)
		if !c2c {
			return []float64{ms}, nil
		}
		var out strings.Builder
		_, err := w.run("amber", &out, w.program("c2c"), "poll-inbox", "--json")
		if got := strings.Count(out.String(), `"message_id"`); err == nil && got != each*senders {
			err = fmt.Errorf("%d messages were sent and %d came", each*senders, got)
		}
		return []float64{ms}, err
	}
}

func sends(w *world, _ int) []string { return []string{w.program("c2c"), "send", "amber", "hello"} }

func sendsID(w *world, _ int) []string {
	return []string{w.program("c2c"), "send", "cedar", "--id", w.fresh(), "hello"}
}

func replaces(w *world, _ int) []string { return []string{w.program("replace"), w.root} }

// atOnceAll starts n commands at once.
func atOnceAll(n int, argv func(*world, int) []string) action {
	return func(w *world) ([]float64, error) {
		return w.together(n, 1, func(i int) []string { return argv(w, i) })
	}
}

func slowest(do action) action {
	return func(w *world) ([]float64, error) {
		took, err := do(w)
		if err != nil {
			return nil, err
		}
		return []float64{slices.Max(took)}, nil
	}
}

// together runs n commands at once, and repeats each so that it runs the given number of times. It
// returns for each command how many milliseconds its last run took.
func (w *world) together(n, times int, argv func(i int) []string) ([]float64, error) {
	took, errs := make([]float64, n), make([]error, n)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		words := argv(i)
		all.Go(func() {
			<-begin
			for range times {
				if took[i], errs[i] = w.time(words[0], words[1:]...); errs[i] != nil {
					return
				}
			}
		})
	}
	close(begin)
	all.Wait()
	return took, errors.Join(errs...)
}
