package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

var kills = flag.Int("kills", 10, "how often the HTTP daemon is killed under load; make torture: 200")

// killing is a daemon that is killed and started again while its clients go on.
type killing struct {
	*host
	mu     sync.Mutex
	cond   *sync.Cond
	up     bool
	kills  int
	over   bool // the clients are to end
	calls  int  // that were answered
	opened int  // streams

	sent  map[string]bool // by id, what the daemon has said is stored
	again map[string]bool // what was sent twice, since the first answer did not come
	had   map[string]int  // when it arrived last: after how many kills
	seen  map[string]int  // how often
}

func newKilling(t *testing.T) *killing {
	k := &killing{host: newHost(t), up: true, sent: map[string]bool{}, again: map[string]bool{}, had: map[string]int{}, seen: map[string]int{}}
	k.cond = sync.NewCond(&k.mu)
	k.run("serve", "start", "--port", k.port)
	return k
}

// goesOn waits until the daemon is up, and says how often it was killed before. ok is false when
// the client is to end.
func (k *killing) goesOn() (kills int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for !k.up && !k.over {
		k.cond.Wait()
	}
	return k.kills, !k.over && !k.t.Failed()
}

// answered counts a call, which may fail only because the daemon was killed.
func (k *killing) answered(kills int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if refused := new(refusedError); errors.As(err, &refused) || err != nil && k.up && k.kills == kills {
		k.t.Errorf("after %d kills, of a daemon that runs: %v", kills, err)
	}
	if err == nil {
		k.calls++
	}
	k.cond.Broadcast()
}

func (k *killing) set(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
	k.cond.Broadcast()
}

// write sends one message after the other, each until it is answered.
func (k *killing) write(c *mcpClient, name string) {
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", name, i)
		for tries := 0; ; tries++ {
			kills, ok := k.goesOn()
			if !ok {
				return
			}
			k.set(func() { k.again[id] = tries > 0 })
			_, err := c.tryCall("send", fmt.Sprintf(`{"to_alias":"coral","content":"letter %s","message_id":%q}`, id, id))
			k.answered(kills, err)
			if err == nil {
				k.set(func() { k.sent[id] = true })
				break
			}
		}
	}
}

// read takes mail until the daemon is not killed any more, and then what is left.
func (k *killing) read(c *mcpClient) {
	for {
		kills, ok := k.goesOn()
		if k.t.Failed() {
			return
		}
		text, err := c.tryCall("poll_inbox", `{}`)
		k.answered(kills, err)
		if err != nil {
			continue
		}
		var mail []struct {
			ID string `json:"message_id"`
		}
		if err := json.Unmarshal([]byte(text), &mail); err != nil {
			k.t.Errorf("polled %q: %v", text, err)
		}
		k.mu.Lock()
		for _, m := range mail {
			// A kill between the answer and the archive brings it again, and so does who has sent
			// it again.
			if k.seen[m.ID]++; k.seen[m.ID] > 1 && k.had[m.ID] == kills && !k.again[m.ID] {
				k.t.Errorf("%s comes again although nothing was killed", m.ID)
			}
			k.had[m.ID] = kills
		}
		k.mu.Unlock()
		if !ok && len(mail) == 0 {
			return
		}
	}
}

// listen has a stream open whenever there can be one.
func (k *killing) listen(c *mcpClient) {
	for {
		if _, ok := k.goesOn(); !ok {
			return
		}
		resp, err := c.send("GET", nil)
		if err != nil {
			continue
		}
		if resp.Header.Get("Content-Type") == "text/event-stream" {
			k.set(func() { k.opened++ })
		} else {
			k.t.Errorf("the stream: %s", resp.Status)
		}
		io.Copy(io.Discard, resp.Body) // until it is killed or stopped
		resp.Body.Close()
	}
}

// killOnce kills the daemon when a number of calls were answered since the last time, and starts
// another.
func (k *killing) killOnce(i int) {
	k.t.Helper()
	k.mu.Lock()
	for goal := k.calls + i%7*3; !k.t.Failed() && (k.calls < goal || k.opened <= i); { // 0: at the first moment, with no regard to what goes on
		k.cond.Wait()
	}
	k.mu.Unlock()
	pid := k.status().PID
	if pid == 0 {
		k.t.Fatalf("kill %d: it does not run", i)
	}
	k.set(func() { k.up = false; k.kills++ })
	k.kill(pid)
	if st := k.status(); st.Running || st.Stranger {
		k.t.Fatalf("kill %d: %+v", i, st)
	}
	k.run("serve", "start")
	if st := k.status(); !st.Answers || strconv.Itoa(st.Port) != k.port {
		k.t.Fatalf("kill %d: %+v", i, st)
	}
	k.set(func() { k.up = true })
}

// Killed at any moment while sessions send, read and listen, and started again: the same port and
// token, every message arrives, and a second time only with its id.
func TestADaemonThatIsKilledUnderLoadLosesNothing(t *testing.T) {
	k := newKilling(t)
	token := k.token()
	coral := k.dialMCP("reader")
	coral.call("register", `{"alias":"coral"}`)
	var writers, others sync.WaitGroup
	for _, name := range []string{"amber", "birch", "cedar", "dana"} {
		c := k.dialMCP(name)
		c.call("register", `{"alias":"`+name+`"}`)
		writers.Go(func() { k.write(c, name) })
	}
	var reading sync.WaitGroup
	reading.Go(func() { k.read(coral) })
	others.Go(func() { k.listen(coral) })
	func() {
		defer writers.Wait()
		defer k.set(func() { k.up, k.over = true, true })
		for i := 0; i < *kills && !t.Failed(); i++ {
			k.killOnce(i)
		}
	}()
	reading.Wait()
	ended := k.end(k.status().PID)
	k.run("serve", "stop")
	ended() // it lets go of its lock, which ends the stop, and then ends itself
	others.Wait()
	twice := 0
	for id := range k.sent {
		if k.seen[id] == 0 {
			t.Errorf("%s was sent, and has not arrived", id)
		}
		if k.seen[id] > 1 {
			twice++
		}
	}
	t.Logf("%d kills; %d messages, of which %d came twice; %d calls were answered, %d streams opened", k.kills, len(k.sent), twice, k.calls, k.opened)
	if k.token() != token {
		t.Error("the token is another one")
	}
	k.nothingLeft()
}

// end gives a wait for the end of a process.
func (k *killing) end(pid int) (wait func()) {
	k.t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		k.t.Fatalf("open process %d: %v", pid, err)
	}
	return func() {
		defer unix.Close(fd)
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
				return
			}
		}
	}
}

// nothingLeft looks for processes that have the home of this test, and for files that are half
// written.
func (k *killing) nothingLeft() {
	k.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, path := range all {
		if env, _ := os.ReadFile(path); bytes.Contains(env, []byte("HOME="+k.home+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			k.t.Errorf("%s is left: %q", filepath.Dir(path), line)
		}
	}
	filepath.WalkDir(k.file(), func(path string, _ os.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), ".tmp.") || err != nil {
			k.t.Errorf("%s is left, %v", path, err)
		}
		return nil
	})
}
