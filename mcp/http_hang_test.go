package mcp

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
)

// rootHeader names the root of a request.
const rootHeader = "X-Test-Root-Path"

// twoRoots lets requests choose their root. Whoever opens the root dead waits until the channel goOn is closed.
func (l *httpLab) twoRoots(dead string, goOn <-chan struct{}) (opening <-chan struct{}) {
	began := make(chan struct{}, 64)
	cfg := &l.h.sessions.cfg
	open := cfg.Open
	cfg.Root = func(r *http.Request) (root, by string, err error) { return r.Header.Get(rootHeader), "test", nil }
	cfg.Open = func(root string, log inbox.Log) (*broker.Broker, error) {
		if root == dead {
			began <- struct{}{}
			<-goOn
		}
		return open(root, log)
	}
	return began
}

// callLater calls a tool in a root. The channel gets the status of the answer.
func (c *httpClient) callLater(root, message string, header ...string) <-chan int {
	got := make(chan int, 1)
	go func() {
		resp := c.post(message, append(header, rootHeader, root)...)
		drain(c.t, resp)
		got <- resp.StatusCode
	}()
	return got
}

// lookAtAll asks for everything that the daemon asks about all clients together.
func (h *HTTP) lookAtAll(root string) {
	h.Roots()
	h.Surfaces()
	h.Streams(root)
	h.sessions.sweep()
	h.stateless.peers.sweep()
}

// The disk of one root does not answer.
func TestACallInARootThatHangsHoldsUpNoOtherRoot(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		l := newHTTPLab(t, HTTPLimits{})
		dead, well := filepath.Join(l.root, "dead"), filepath.Join(l.root, "well")
		goOn := make(chan struct{})
		opening := l.twoRoots(dead, goOn)
		limit, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		call := func(name string, process int, root string) <-chan int {
			if stateless {
				c := &httpClient{httpLab: l, process: process}
				body := c.modernBody(name, "tools/call", `"name":"poll_inbox","arguments":{}`)
				return c.callLater(root, body, modernHeader("tools/call", "poll_inbox")...)
			}
			c := l.dial(name, process)
			return c.callLater(root, c.message("poll_inbox", `{}`))
		}
		hanging := call("codex", os.Getpid(), dead)
		<-opening
		release := context.AfterFunc(limit, func() { close(goOn) })
		if got := <-call("codex", os.Getppid(), well); got != http.StatusOK {
			t.Errorf("stateless %v: the call in the other root is answered by %d", stateless, got)
		}
		l.h.lookAtAll(well)
		if !release() {
			t.Fatalf("stateless %v: the other root waits for the one that hangs", stateless)
		}
		close(goOn)
		if got := <-hanging; got != http.StatusOK {
			t.Errorf("stateless %v: when the disk answers: %d", stateless, got)
		}
	}
}

// A call in one root looks for its session, and waits there: a suspended process may hold the registry's lock.
func TestACallThatLooksForItsSessionHoldsUpNoOtherRoot(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	dead, well := filepath.Join(l.root, "dead"), filepath.Join(l.root, "well")
	l.twoRoots("", nil)
	amber, birch := l.dial("codex", 10), l.dial("codex", 20)
	if got := <-amber.callLater(dead, amber.message("whoami", `{}`)); got != http.StatusOK {
		t.Fatal(got)
	}
	limit, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	release := context.AfterFunc(limit, l.h.sessions.known(amber.id).peer.Others.LockBinding())
	if got := <-birch.callLater(well, birch.message("poll_inbox", `{}`)); got != http.StatusOK {
		t.Errorf("the call in the other root is answered by %d", got)
	}
	if !release() {
		t.Error("the other root waits")
	}
}

// The disk of one root hangs when a session there ends.
func TestASessionWhoseRootHangsKeepsNoOtherFromItsEnd(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	dead, well := filepath.Join(l.root, "dead"), filepath.Join(l.root, "well")
	amber, birch := l.dial("one", 0), l.dial("two", 0)
	ready := make(chan struct{})
	close(ready)
	l.twoRoots("", ready)
	for c, root := range map[*httpClient]string{amber: dead, birch: well} {
		if got := <-c.callLater(root, c.message("poll_inbox", `{}`)); got != http.StatusOK {
			t.Fatal(got)
		}
	}
	goOn := make(chan struct{})
	opening := l.twoRoots(dead, goOn)
	if err := os.Rename(dead, dead+".old"); err != nil {
		t.Fatal(err)
	}
	opened := make(chan struct{})
	go func() {
		l.h.sessions.known(amber.id).peer.Open()
		close(opened)
	}()
	<-opening
	limit, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	release := context.AfterFunc(limit, func() { close(goOn) })
	l.clock.Add(int64((48 * time.Hour).Seconds()))
	l.h.sessions.sweep()
	if !release() {
		t.Fatal("the sweep waits")
	}
	if l.h.sessions.known(birch.id) != nil {
		t.Error("the other session is still there")
	}
	close(goOn)
	<-opened
}
