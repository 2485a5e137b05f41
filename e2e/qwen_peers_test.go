package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"c2c/e2e/lab"
)

// qwenSends is a call of the client's own tool for other sessions.
func qwenSends(to, text string) lab.Reply {
	return lab.Call("send_message", map[string]any{"to": to, "message": text})
}

// qwenPeer is the record of a name of ours among the client's sessions.
type qwenPeer struct {
	qwenSession
	Name string
	path string
}

// qwenPeers gives the records of our names, by name.
func qwenPeers(l *lab.Lab) map[string]qwenPeer {
	found := map[string]qwenPeer{}
	paths, _ := filepath.Glob(l.Home + "/.qwen/sessions/*-*.json")
	for _, path := range paths {
		r := qwenPeer{path: path}
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &r) == nil {
			found[r.Name] = r
		}
	}
	return found
}

// qwenShows waits until a window shows a name.
func qwenShows(l *lab.Lab, name string) (r qwenPeer) {
	l.WaitUntil(name+" among the client's sessions", func() (ok bool) {
		r, ok = qwenPeers(l)[name]
		return ok
	})
	return r
}

// qwenTells has the model of a window call the client's own tool, and gives what it was told.
func qwenTells(l *lab.Lab, model *lab.Model, p *lab.Proc, to, text string) string {
	model.Answer(func(r *lab.Request) (lab.Reply, bool) {
		switch last := r.Last(); {
		case last.Role == "user" && strings.Contains(last.Text, "cross_session_message"): // the other window's
			return lab.Say("Woken."), true
		case last.Role == "tool" && to != "nobody" && strings.Contains(last.Text, "no reachable session"):
			return qwenSends(to, text), true // the client gives a socket 250 ms, which a busy machine may need
		}
		return lab.Reply{}, false
	})
	model.Script(qwenSends(to, text), lab.Say("Done: "+text))
	p.Submit("prompt-" + text)
	p.WaitScreen(0, "Done: "+text)
	told := ""
	for _, r := range model.Turns() {
		if last := r.Last(); last.Role == "tool" && len(r.Find("prompt-"+text)) > 0 {
			told = last.Text
		}
	}
	return told
}

func polls(l *lab.Lab, alias string) string {
	return l.Run(c2c(), "poll-inbox", "--json", "--session-id", alias)
}

// Its model is told that a message was sent when it is in our store, and only then.
func TestQwensOwnToolWritesToOurNames(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	birch := qwenShows(l, "birch")
	if got := qwenTells(l, model, p, "birch", "word-one"); !strings.Contains(got, "Sent to birch") {
		t.Errorf("it was told %q", got)
	}
	if got := polls(l, "birch"); !strings.Contains(got, "word-one") || !strings.Contains(got, `"amber"`) {
		t.Errorf("birch has %s", got)
	}
	if got := qwenTells(l, model, p, "nobody", "word-two"); !strings.Contains(got, `no reachable session named "nobody"`) {
		t.Errorf("of an unknown name it was told %q", got)
	}
	qwenClears(l, p, "Done: word-two")
	if got := qwenTells(l, model, p, "birch", "word-three"); !strings.Contains(got, "Sent to birch") {
		t.Errorf("after /clear it was told %q", got)
	}
	if got := polls(l, "birch"); !strings.Contains(got, "word-three") || !strings.Contains(got, `"amber"`) {
		t.Errorf("after /clear birch has %s", got)
	}
	l.Run("sh", "-c", "cd ~/.c2c/repos/*/broker && rm birch.inbox.lock && mkdir birch.inbox.lock")
	if got := qwenTells(l, model, p, "birch", "word-four"); !strings.Contains(got, "Failed to send to birch") {
		t.Errorf("without a mailbox it was told %q", got)
	}
	l.Run("sh", "-c", "rmdir ~/.c2c/repos/*/broker/birch.inbox.lock")
	forgesAMessage(t, l, birch)
	p.Command("/quit")
	p.Wait()
	l.WaitUntil("none of our names", func() bool { return len(qwenPeers(l)) == 0 })
	if _, err := os.Stat(filepath.Dir(birch.IPCPath)); err == nil {
		t.Errorf("%s is left", birch.IPCPath)
	}
}

// Whoever may read the records has the tokens of a window, and is not the window.
func forgesAMessage(t *testing.T, l *lab.Lab, birch qwenPeer) {
	t.Helper()
	windows, _ := filepath.Glob(l.Home + "/.qwen/sessions/*.json")
	for _, path := range windows {
		if pid := strings.TrimSuffix(filepath.Base(path), ".json"); !strings.Contains(pid, "-") {
			window := qwenSessionOf(t, l, pid)
			conn, err := net.Dial("unix", birch.IPCPath)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, `{"msgV":1,"type":"auth","token":%q}`+"\n"+`{"msgV":1,"msgId":"forged","type":"user","from":%q,"replyToken":%q,"toSessionId":%q,"message":{"role":"user","content":"word-forged"}}`+"\n",
				birch.IPCToken, window.IPCPath, window.IPCToken, birch.SessionID)
			conn.(*net.UnixConn).CloseWrite()
			if _, err := io.ReadAll(conn); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("a forged message: %v", err)
			}
			conn.Close()
		}
	}
	if got := polls(l, "birch"); len(windows) == 0 || strings.Contains(got, "word-forged") {
		t.Errorf("birch has %s", got)
	}
}

// Both windows show birch. Each one's server is the peer for the other, and when one was killed
// another one is.
func TestTwoQwensWriteToEachOther(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	second := l.Terminal(l.QwenEnv(model), c2c(), "start", "--alias", "coral", "qwen")
	second.WaitShown("Type your message")
	amber := qwenShows(l, "amber")
	if got := qwenTells(l, model, second, "birch", "word-birch"); !strings.Contains(got, "Sent to birch") {
		t.Errorf("it was told %q", got)
	}
	if got := polls(l, "birch"); !strings.Contains(got, "word-birch") || !strings.Contains(got, `"coral"`) {
		t.Errorf("birch has %s", got)
	}
	if got := qwenTells(l, model, second, "amber", "word-amber"); !strings.Contains(got, "Sent to amber") {
		t.Errorf("it was told %q", got)
	}
	p.WaitScreen(0, "Woken.")
	if err := syscall.Kill(amber.PID, syscall.SIGKILL); err != nil { // coral's server
		t.Fatal(err)
	}
	hooksSayIdle(l, "amber")
	if got := qwenTells(l, model, p, "birch", "word-after"); !strings.Contains(got, "Sent to birch") {
		t.Errorf("it was told %q", got)
	}
	if got := polls(l, "birch"); !strings.Contains(got, "word-after") {
		t.Errorf("birch has %s", got)
	}
	l.Run(c2c(), "register", "cedar", "--session-id", "cedar") // every server looks again
	qwenShows(l, "cedar")
	l.WaitUntil("removal of what the server that was killed has left", func() bool {
		left, _ := filepath.Glob(l.Home + "/.qwen/sessions/" + strconv.Itoa(amber.PID) + "-*")
		return len(left) == 0
	})
}
