package e2e

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/e2e/lab"
	"c2c/inbox"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/claude"
	"c2c/wake/codex"
	"c2c/wake/watch"
)

// c2c leaves a running turn to its hooks for five minutes, and then rings all the same: it steers
// the turn. Esc takes from a client what the turn has not taken yet.

// watched rings a session from here, whether it is busy or not, as its server does after those
// minutes. The rings come out of the channel.
func watched(t *testing.T, l *lab.Lab, alias string, methods func(s sessions.Session, box *inbox.Mailbox, root string) []wake.Method) <-chan wake.Ring {
	t.Helper()
	roots, err := filepath.Glob(l.Home + "/.c2c/repos/*/broker")
	if err != nil || len(roots) != 1 {
		t.Fatalf("roots %q, %v", roots, err)
	}
	b, err := broker.Open(broker.Config{Root: roots[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	s, err := callers.Resolve(t.Context(), b.Registry, callers.Caller{Explicit: alias})
	if err != nil {
		t.Fatal(err)
	}
	box, err := b.Mailbox(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := b.Locks.Watchable(box.LockName())
	if err != nil {
		t.Fatal(err)
	}
	said, ended, changes := make(chan wake.Ring, 100), make(chan error), watch.NewChanges()
	t.Cleanup(changes.Close)
	record := func(_ context.Context, r wake.Ring) {
		if r.Outcome != wake.Coalesced {
			said <- r
		}
	}
	w := &watch.Watcher{Box: box, Lock: lock, Methods: methods(s, box, b.Root()), Now: time.Now, Gap: time.Second, Record: record}
	go func() { ended <- w.Run(t.Context(), changes) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return said
}

// byServer rings a Codex thread through a relay that tells of each line that the app-server has
// accepted, since its terminal shows none of them before the turn takes it.
func byServer(t *testing.T, l *lab.Lab) (methods func(sessions.Session, *inbox.Mailbox, string) []wake.Method, accepted <-chan bool) {
	t.Helper()
	const control = "app-server-control"
	home, err := os.MkdirTemp("", "c2c-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Mkdir(filepath.Join(home, control), 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(control, control+".sock")
	listener, err := net.Listen("unix", filepath.Join(home, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	told := make(chan bool, 100)
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := dialLinked(filepath.Join(l.Home, ".codex", name))
			if err != nil {
				here.Close()
				continue
			}
			go relay(there, here, nil)
			go relay(here, there, told)
		}
	}()
	return func(s sessions.Session, _ *inbox.Mailbox, _ string) []wake.Method {
		// Unattended: the terminal belongs to the other home.
		server := &codex.Server{Home: home, Thread: s.ClientIDs[len(s.ClientIDs)-1], Unattended: true}
		return []wake.Method{{Name: wake.ByServer, Carrier: server, Doorbell: server}}
	}, told
}

// dialLinked follows the link: where it stands, a name may be too long for a socket's.
func dialLinked(path string) (net.Conn, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return net.Dial("unix", path)
}

// next waits for what comes out of a channel, and not for ever.
func next[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(90 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}

// relay copies until one side hangs up. A server's frames are plain text, and it answers turn/start
// alone with a turn.
func relay(to, from net.Conn, told chan<- bool) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		if told != nil && bytes.Contains(buf[:n], []byte(`"result":{"turn":`)) {
			told <- true
		}
	}
}

func TestARunningCodexTurnIsSteered(t *testing.T) {
	t.Parallel()
	l, model, p := withoutServer(t)
	methods, accepted := byServer(t, l)
	rang := watched(t, l, "cody", methods)
	work := make(chan struct{})
	model.Script(shell("true").After(work), lab.Say("Finished."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	next(t, accepted)
	close(work)
	r := model.WaitText("word-meanwhile")
	if item := once(t, r, "word-meanwhile"); item.Role != "tool" || len(r.Find("Finished.")) != 0 {
		t.Errorf("shown as %+v in another turn: %s", item, r)
	}
	p.WaitScreen(0, "Finished.")
	if ring := next(t, rang); ring.Outcome != wake.Rang {
		t.Errorf("ring %+v", ring)
	}
	onlyOnce(t, model.Turns(), "word-meanwhile", "tool")
	wantHandedOver(t, l, "id-meanwhile", "by server")
}

func TestASteerThatEscTakesIsHandedOverOnceMore(t *testing.T) {
	t.Parallel()
	l, model, p := withoutServer(t)
	methods, accepted := byServer(t, l)
	rang := watched(t, l, "cody", methods)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	model.Script(lab.Say("Too late.").After(never), lab.Say("Rung."), lab.Say("Read."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	next(t, accepted)
	p.WaitShown("esc to interrupt")
	p.Send(lab.Esc)
	if ring := next(t, rang); ring.Outcome != wake.Uncaptured {
		t.Errorf("the first ring %+v", ring)
	}
	if ring := next(t, rang); ring.Outcome != wake.Rang {
		t.Errorf("the second ring %+v", ring)
	}
	p.WaitScreen(0, "Read.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// Esc leaves Claude Code what was queued in it: both kinds of line are the next turn.

// socketAlone is an idle Claude Code amber whose server has ended, and who is rung from here with
// messages.
func socketAlone(t *testing.T) (*lab.Lab, *lab.Model, *lab.Proc, <-chan wake.Ring) {
	t.Helper()
	l, model, p := blindLab(t)
	server := serverOf(t, p.Pid())
	env := environmentOf(t, server)
	end(t, server)
	busy := func(context.Context) bool {
		return client.ClaudeDoing(filepath.Join(l.Home, ".claude"), p.Pid(), "").Word == client.Busy
	}
	rang := watched(t, l, "amber", func(_ sessions.Session, box *inbox.Mailbox, root string) []wake.Method {
		socket, err := claude.FromEnv(func(name string) string { return env[name] }, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return []wake.Method{{Name: wake.BySocket, Doorbell: socket, Carrier: &claude.Carrier{Socket: socket, Box: box, Busy: busy}}}
	})
	return l, model, p, rang
}

func TestEscLeavesClaudeALineWithMail(t *testing.T) {
	t.Parallel()
	l, model, p, rang := socketAlone(t)
	readAfterEsc(t, l, model, p, func() { p.WaitScreen(0, "id-meanwhile") })
	if ring := next(t, rang); ring.Outcome != wake.Rang {
		t.Errorf("ring %+v", ring)
	}
	wantRead(t, l, "id-meanwhile", "read by socket")
}

// The client keeps a line until the tool call ends, which may take longer than a receipt may. The
// hook that runs then must not show the same messages beside the line.
func TestALineThatABusyClaudeKeepsIsReadOnce(t *testing.T) {
	t.Parallel()
	l, model, p, rang := socketAlone(t)
	work := make(chan struct{})
	model.Script(bash("true").After(work), lab.Say("Finished."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	p.WaitScreen(0, "id-meanwhile")
	select {
	case ring := <-rang:
		t.Errorf("given up while the client works: %+v", ring)
	case <-time.After(20 * time.Second): // a receipt from an idle client may take 15
	}
	close(work)
	model.WaitText("word-meanwhile")
	p.WaitScreen(0, "Finished.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "")
	wantRead(t, l, "id-meanwhile", "read by socket")
}

func TestEscLeavesClaudeTheLineOfItsOwnWatch(t *testing.T) {
	t.Parallel()
	l, model, p := aloneLab(t, nil)
	readAfterEsc(t, l, model, p, func() {
		l.WaitFile(".c2c/repos/*/broker/sessions/*.json", `"outcome": "rang"`)
	})
	wantRead(t, l, "id-meanwhile", "read by hook")
	wantRings(t, l, 1)
}

func TestMailOfAnInterruptedClaudeIsReadAfterIt(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	readAfterEsc(t, l, model, p, func() {})
	wantRead(t, l, "id-meanwhile", "read by socket")
	wantRings(t, l, 1)
}

// readAfterEsc sends to a turn that does not end, and interrupts it when the client is there.
func readAfterEsc(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, there func()) {
	t.Helper()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	model.Script(lab.Say("Too late.").After(never), lab.Say("Woken."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	there()
	p.Send(lab.Esc)
	model.WaitText("word-meanwhile")
	p.WaitScreen(0, "Woken.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "")
}
