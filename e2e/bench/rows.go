package main

import (
	"errors"
	"fmt"
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

// startRows measure whole processes that do little.
func startRows() []row {
	return []row{
		{name: "c2c version", do: c2c("version"), limit: emptyWords, against: empty},
		{name: "c2c hook, empty mailbox", do: emptied("birch", c2c("hook")), limit: emptyWords, against: empty, aim: 1.8},
		{name: "c2c hook with mail", do: hookWithMail, limit: replaceWords, against: replace, aim: 2},
		{name: "hook script, empty mailbox", do: func(w *world) ([]float64, error) { return one(w.time(w.script())) }, limit: "sh -c :",
			against: func(w *world) ([]float64, error) { return one(w.time("sh", "-c", ":")) }, aim: 1.2},
		{name: "c2c send", do: emptied("amber", c2c("send", "amber", "hello")), limit: replaceWords, against: replace, aim: 1.5,
			beside: otherSend, patience: 15 * time.Second},
		{name: "c2c send to a room of 50", do: postsToRoom, limit: "c2c send",
			against: emptied("amber", c2c("send", "amber", "hello")), aim: 1.3, patience: 15 * time.Second},
		// The disk's noise hides a send that has become slower by a tenth. The CPU time shows it.
		{name: "c2c send, CPU time", do: emptied("amber", cpuOf("c2c", "send", "amber", "hello")), limit: "of one durable replace",
			against: func(w *world) ([]float64, error) { return cpuOf("replace", w.root)(w) }, aim: 1.6, patience: 15 * time.Second},
		{name: "c2c send, undrained mailbox", do: c2c("send", "amber", "hello"), limit: replaceWords, against: replace, aim: 1.6},
		{name: "c2c send --id", do: emptied("amber", withID("amber")), limit: replaceWords, against: replace, aim: 1.6},
		{name: "c2c reply", anew: beforeLoop, do: reply, limit: replaceWords, against: replace, aim: 1.6},
		{name: "c2c poll-inbox --check", do: emptied("amber", check("amber")), limit: emptyWords, against: empty, aim: 1.8},
	}
}

// waitingRows measure commands in a root with nearly as much waiting mail as c2c allows.
func waitingRows() []row {
	send := c2c("send", "cedar", "hello")
	lookAt := c2c("status", "newest")
	return []row{
		{name: "c2c send, 19,900 waiting", root: full, anew: 40, do: send, limit: "the same, 0 waiting", against: inZero("cedar", send), aim: 1.3,
			beside: otherSend},
		{name: "c2c list, 19,400 waiting", root: nearlyFull, do: c2c("list"), limit: emptyWords, against: empty, aim: 2.5},
		{name: "c2c status, 19,400 waiting", root: nearlyFull, do: lookAt, limit: emptyWords, against: empty, aim: 2.5},
		{name: "c2c poll-inbox, 10,000 waiting", root: some, anew: 1, most: 15, do: c2c("poll-inbox", "--session-id", "dune", "--json"),
			limit: "JSON decode, archive, 2 fsync", against: plainDrain, aim: 3},
	}
}

// archiveRows measure commands that search a long archive.
func archiveRows() []row {
	grep := func(w *world) ([]float64, error) { return one(w.time("grep", "-riF", oldWord, w.root)) }
	send := withID("cedar")
	return []row{
		{name: "c2c send --id, 60 MB archive", root: long, do: emptied("cedar", send), limit: "the same, no archive", against: inZero("cedar", send), aim: 2},
		{name: "c2c status <short id>, the oldest of 100,000 archived", root: old, do: c2c("status", "oldest short"), limit: emptyWords, against: empty, aim: 8},
		{name: "c2c status <id>, the oldest of 100,000 archived", root: old, do: c2c("status", "oldest"), limit: emptyWords, against: empty, aim: 5},
		{name: "c2c search, 100,000 archived", root: old, do: c2c("search", oldWord, "--session-id", "ebony"), limit: grepWords, against: grep, aim: 1.5},
		{name: "c2c thread, 100,000 archived", root: old, do: c2c("thread", "oldest"), limit: grepWords, against: grep, aim: 1},
		{name: "c2c history, 100,000 archived", root: old, do: c2c("history", "--session-id", "ebony"), limit: emptyWords, against: empty, aim: 5},
	}
}

// sessionRows measure what a large number of registered sessions costs each command.
func sessionRows() []row {
	list, hook, send := c2c("list"), emptied("birch", c2c("hook")), emptied("amber", c2c("send", "amber", "hello"))
	return []row{
		{name: "c2c list, 2 sessions", root: pair, do: list, limit: emptyWords, against: empty, aim: 2},
		{name: "c2c list, 392 sessions", root: crowd, do: list, limit: "the same, 5 sessions", against: inZero("", list), aim: 4},
		{name: "c2c hook, empty mailbox, 392 sessions", root: crowd, do: hook, limit: "the same, 5 sessions", against: inZero("", hook), aim: 1.1},
		{name: "c2c send, 392 sessions", root: crowd, do: send, limit: "the same, 5 sessions", against: inZero("", send), aim: 1.1},
	}
}

// crowdRows measure many senders to one mailbox.
func crowdRows() (all []row) {
	for _, c := range []struct {
		senders int
		aim     float64
	}{{1, 1.6}, {8, 1.6}} {
		name := fmt.Sprintf("%d senders, one message after the other, 0 lost", c.senders)
		all = append(all, row{name: name, unit: "msg/s", do: stream(c.senders, true), limit: "as many loops of replace",
			against: stream(c.senders, false), aim: c.aim, beside: otherStream(c.senders), patience: 12 * time.Second})
	}
	for _, n := range []int{8, 32, 100} {
		do, limit := emptied("amber", atOnceAll(n, sends)), atOnceAll(n, replaces)
		all = append(all, row{name: fmt.Sprintf("one of %d x c2c send at once", n), do: do, limit: fmt.Sprintf("one of %d x replace", n), against: limit, aim: 2},
			row{name: fmt.Sprintf("the slowest of %d x c2c send at once", n), do: slowest(do), limit: fmt.Sprintf("the slowest of %d x replace", n),
				against: slowest(limit), aim: 2})
	}
	return all
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
