package qwen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"c2c/wake"
)

// window is a stand-in for a Qwen Code, which this process is, and the names of ours that it shows.
type window struct {
	t       *testing.T
	records string
	peers   *peers

	mu     sync.Mutex
	stored []wake.Sent
	fails  error
}

func newWindow(t *testing.T) *window {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	home := t.TempDir()
	w := &window{t: t, records: filepath.Join(home, "sessions")}
	if err := os.Mkdir(w.records, 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"QWEN_HOME": home, "QWEN_CODE_MESSAGING_SOCKET": "x"}
	w.peers = newPeers(func(name string) string { return env[name] }, func(_ context.Context, s wake.Sent) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.fails == nil {
			w.stored = append(w.stored, s)
		}
		return w.fails
	}).(*peers)
	if err := w.peers.identify(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.peers.Close() })
	w.write(fmt.Sprintf("%d.json", os.Getpid()), peerRecord{PID: os.Getpid(), PIDNS: w.peers.self.PIDNS, ProcStart: w.peers.self.ProcStart,
		SessionID: "s-1", Name: "project-3f", IPCPath: "/own.sock", IPCToken: "0wn"})
	return w
}

// had gives what was stored since the last call; from now on storing fails so, or works with nil.
func (w *window) had(fails error) (stored []wake.Sent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stored, w.stored, w.fails = w.stored, nil, fails
	return stored
}

func (w *window) write(file string, r peerRecord) {
	w.t.Helper()
	data, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(w.records, file), data, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *window) show(names ...string) {
	w.t.Helper()
	if err := w.peers.Show("/root", names); err != nil {
		w.t.Fatal(err)
	}
}

// shown gives the records of our names.
func (w *window) shown() map[string]peerRecord {
	found := map[string]peerRecord{}
	files, _ := filepath.Glob(filepath.Join(w.records, "*-*.json"))
	for _, file := range files {
		if r, ok := readPeer(file); ok {
			found[r.Name] = r
		}
	}
	return found
}

func TestTheClientSeesExactlyTheNamesThatAreThere(t *testing.T) {
	w := newWindow(t)
	w.show("amber", "project-3f", "birch")
	first := w.shown()
	if len(first) != 2 || first["amber"].SessionID == first["birch"].SessionID || first["amber"].PID != os.Getpid() {
		t.Fatalf("it sees %+v", first)
	}
	w.show("birch", "coral")
	second := w.shown()
	if len(second) != 2 || second["birch"] != first["birch"] || second["coral"].Name == "" {
		t.Errorf("then it sees %+v", second)
	}
	if _, err := os.Stat(first["amber"].IPCPath); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket of a name that is gone: %v", err)
	}
	w.write(fmt.Sprintf("%d-0000000a.json", os.Getpid()), peerRecord{PID: os.Getpid(), PIDNS: w.peers.self.PIDNS, ProcStart: w.peers.self.ProcStart, Name: "birch"})
	w.show("birch", "coral")
	if w.peers.shown["birch"] != nil {
		t.Error("a name that a window has taken is still shown")
	}
	os.Remove(filepath.Join(w.records, fmt.Sprintf("%d-0000000a.json", os.Getpid())))
	os.Remove(filepath.Join(w.records, w.peers.shown["coral"].file))
	w.show("birch", "coral")
	if got := w.shown()["coral"]; got.SessionID != second["coral"].SessionID {
		t.Errorf("a record that somebody removed is %+v", got)
	}
	if err := w.peers.Close(); err != nil || len(w.shown()) > 0 {
		t.Errorf("at the end it sees %v, %v", w.shown(), err)
	}
	if left, _ := filepath.Glob(os.TempDir() + "/*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

func TestWhatAKilledServerLeftIsRemoved(t *testing.T) {
	w := newWindow(t)
	l, err := listen(peerSocket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	self := w.peers.self
	record := func(change func(r *peerRecord)) peerRecord {
		r := self
		r.PID, r.Name, r.IPCPath = math.MaxInt32, "x", "/none"
		change(&r)
		return r
	}
	otherBoot := func(r *peerRecord) { r.ProcStart = "0-0:7" }
	w.write("2147483647-0000000a.json", record(func(r *peerRecord) { r.IPCPath = l.Addr().String() }))
	w.write("2147483647-0000000b.json", record(otherBoot))
	w.write("1-0000000c.json", record(func(r *peerRecord) { r.PID, r.ProcStart = 1, self.ProcStart+"7" }))
	kept := []string{"2147483647-0000000d.json", "2147483647-0000000e.json", "2147483647-0000000f.json", "2147483647.json"}
	w.write(kept[0], record(func(r *peerRecord) { otherBoot(r); r.Machine = "id other" }))
	w.write(kept[1], record(func(r *peerRecord) { r.PIDNS++ }))
	w.write(kept[2], record(func(r *peerRecord) { otherBoot(r); r.Machine, r.Name = "", "amber" })) // a session of the client's own
	w.write(kept[3], record(func(r *peerRecord) { r.Machine, r.Name = "", "amber" }))
	w.show("amber") // the client's session of this name has ended
	var left []string
	entries, _ := os.ReadDir(w.records)
	for _, e := range entries {
		if pid, _, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".json"), "-"); pid != fmt.Sprint(os.Getpid()) {
			left = append(left, e.Name())
		}
	}
	if !slices.Equal(left, kept) || w.peers.shown["amber"] == nil {
		t.Errorf("left are %q", left)
	}
	if _, err := os.Stat(filepath.Dir(l.Addr().String())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its socket: %v", err)
	}
}

func TestASocketWithoutARecordIsRemovedLater(t *testing.T) {
	for _, name := range []string{"[0-9]", strings.Repeat("too long ", 12)} { // the second is no place for sockets: they are in /tmp
		t.Run(name, func(t *testing.T) {
			tmp := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TMPDIR", tmp)
			oldSocketsGo(t)
		})
	}
}

func oldSocketsGo(t *testing.T) {
	t.Helper()
	var dirs []string
	for range 3 {
		l, err := listen(peerSocket)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, filepath.Dir(l.Addr().String()))
		if len(dirs) == 1 {
			defer closeSocket(l)
			continue
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
		defer removeSocket(l.Addr().String())
	}
	old := time.Now().Add(-time.Hour)
	for _, dir := range dirs[:2] {
		os.Chtimes(filepath.Join(dir, peerSocket), old, old)
	}
	sweepSockets()
	for i, want := range []bool{true, false, true} { // it is served, it is old, it is new
		if _, err := os.Stat(dirs[i]); (err == nil) != want {
			t.Errorf("socket %d: %v", i, err)
		}
	}
}

// frames is what the client writes, changed.
func (w *window) frames(to peerRecord, change ...string) string {
	text := fmt.Sprintf(`{"msgV":1,"type":"auth","token":%q}`+"\n"+`{"msgV":1,"msgId":"m-1","type":"user","from":"/own.sock","replyToken":"0wn","fromName":"eve",`+
		`"toSessionId":%q,"priority":"next","message":{"role":"user","content":"hello"}}`+"\n", to.IPCToken, to.SessionID)
	return strings.NewReplacer(change...).Replace(text)
}

// send gives what the client sees of its connection.
func (w *window) send(to peerRecord, frames string) error {
	w.t.Helper()
	conn, err := net.Dial("unix", to.IPCPath)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		io.WriteString(conn, frames)
		conn.(*net.UnixConn).CloseWrite()
	}()
	_, err = io.ReadAll(conn)
	return err
}

func TestAMessageIsSentWhenItIsStored(t *testing.T) {
	w := newWindow(t)
	w.show("amber")
	amber := w.shown()["amber"]
	if err := w.send(amber, w.frames(amber)); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("x", 300_000)
	if err := w.send(amber, w.frames(amber, "hello", long)); err != nil {
		t.Error(err)
	}
	want := wake.Sent{Process: os.Getpid(), Session: "s-1", To: "amber", ID: "m-1", Text: "hello"}
	if got := w.had(nil); len(got) != 2 || got[0] != want || got[1].Text != long {
		t.Fatalf("stored %.200v", got)
	}
	w.had(errors.New("full"))
	if err := w.send(amber, w.frames(amber)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("what is not stored is sent: %v", err)
	}
}

// Nothing that a frame says is believed: the process is what the kernel says, and its record has
// the rest.
func TestAMessageOfAnotherIsNone(t *testing.T) {
	w := newWindow(t)
	w.show("amber", "birch")
	amber, birch := w.shown()["amber"], w.shown()["birch"]
	for what, frames := range map[string]string{
		"another token":   w.frames(amber, amber.IPCToken, birch.IPCToken),
		"no token":        w.frames(amber, `"type":"auth"`, `"type":"none"`),
		"another window":  w.frames(amber, "/own.sock", "/other.sock"),
		"another's token": w.frames(amber, "0wn", "other"),
		"another name":    w.frames(amber, amber.SessionID, birch.SessionID),
		"a newer version": w.frames(amber, `"msgV":1`, `"msgV":2`),
		"no user":         w.frames(amber, `"role":"user"`, `"role":"system"`),
		"no text":         w.frames(amber, "hello", ""),
		"no JSON":         "{\n{\n",
		"two messages":    w.frames(amber) + "{}\n",
		"too long":        w.frames(amber, "hello", strings.Repeat("x", maxFrame)),
		"one line":        "{}",
	} {
		err := w.send(amber, frames)
		if got := w.had(nil); err == nil && what != "one line" || len(got) > 0 {
			t.Errorf("%s: %v, stored %.200v", what, err, got)
		}
	}
	os.Remove(filepath.Join(w.records, fmt.Sprintf("%d.json", os.Getpid())))
	if err := w.send(amber, w.frames(amber)); !errors.Is(err, syscall.ECONNRESET) || len(w.had(nil)) > 0 {
		t.Errorf("a process without a session: %v", err)
	}
}

func TestWithoutMessagesBetweenSessionsNoNameIsShown(t *testing.T) {
	if p := newPeers(func(string) string { return "" }, nil); p != nil {
		t.Errorf("%v", p)
	}
}

// Nothing is stored, and no receipt counts, without the token of this socket.
func FuzzFrames(f *testing.F) {
	const token, id = "t0ken", "m-1"
	auth := `{"msgV":1,"type":"auth","token":"` + token + `"}` + "\n"
	message := `{"msgV":1,"msgId":"m-1","type":"user","from":"/own.sock","replyToken":"0wn","toSessionId":"s-2","message":{"role":"user","content":"hello"}}` + "\n"
	receipt := `{"type":"control","action":"delivery_status","status":"delivered","origMsgId":"` + id + `"}` + "\n"
	guess := strings.ReplaceAll(auth, token, "guess")
	for _, text := range []string{auth + message, auth + receipt, guess + message, guess + receipt, message + auth, receipt, auth, auth + strings.Repeat(`{"message":`, 11_000) + "\n",
		strings.Repeat("x", maxFrame+1), auth + strings.Repeat("x", maxFrame) + "\n", "\n\n", "[]\n{}\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		records := t.TempDir()
		self, err := json.Marshal(peerRecord{PID: os.Getpid(), SessionID: "s-1", IPCPath: "/own.sock", IPCToken: "0wn"})
		if err == nil {
			err = os.WriteFile(filepath.Join(records, fmt.Sprintf("%d.json", os.Getpid())), self, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		stored := []wake.Sent{}
		d := &incoming{records, &peer{id: "s-2", token: token}, func(_ context.Context, s wake.Sent) error {
			stored = append(stored, s)
			return nil
		}}
		ours, theirs := socketPair(t)
		wrote := make(chan bool)
		go func() {
			theirs.Write(sent) // fails when it is too long: nobody reads on
			theirs.Close()
			close(wrote)
		}()
		d.serve(ours)
		<-wrote
		p := &outgoing{id: id, token: token, changed: make(chan struct{}, 1)}
		p.read(bytes.NewReader(sent))
		if known := bytes.Contains(bytes.ReplaceAll(sent, []byte(`\`), []byte(token)), []byte(token)); !known && (len(stored) > 0 || p.last() != "") {
			t.Errorf("stored %+v, receipt %q", stored, p.last())
		}
		if string(sent) == auth+message && len(stored) != 1 || string(sent) == auth+receipt && p.last() != delivered {
			t.Errorf("stored %+v, receipt %q", stored, p.last())
		}
	})
}

// socketPair gives both ends of a connection.
func socketPair(t *testing.T) (ours, theirs *net.UnixConn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "socket")
		conn, err := net.FileConn(file)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		ends[i] = conn.(*net.UnixConn)
	}
	return ends[0], ends[1]
}
