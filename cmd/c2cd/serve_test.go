package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"c2c/cmd/cli"
)

// host is somebody with a shell who runs c2c serve in a home of their own.
type host struct {
	*keeper
	port string
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{keeper: &keeper{t, keptPrograms(t), t.TempDir()}}
	for h.port == "" {
		// One that is free, as a person chooses one. The system would give one that others'
		// connections get, too.
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			h.port = port
			l.Close()
		}
	}
	t.Cleanup(func() { h.try("daemon", "stop") })
	return h
}

func (h *host) status() (st httpStatus) {
	h.t.Helper()
	out, err := h.try("serve", "status", "--json")
	if jerr := json.Unmarshal([]byte(out), &st); jerr != nil {
		h.t.Fatalf("%v: %s", jerr, out)
	}
	h.exits(err, st.Answers)
	return st
}

func (h *host) daemon() (st daemonStatus) {
	h.t.Helper()
	out, err := h.command("daemon", "status", "--json").Output()
	if jerr := json.Unmarshal(out, &st); jerr != nil {
		h.t.Fatalf("%v: %s", jerr, out)
	}
	h.exits(err, st.PID != 0)
	return st
}

// exitOf is the exit status of a program that has ended with this error.
func exitOf(err error) int {
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

func (h *host) file(name ...string) string {
	return filepath.Join(append([]string{h.home, ".c2c"}, name...)...)
}

func (h *host) token() string {
	h.t.Helper()
	data, err := os.ReadFile(h.file("http-mcp-token"))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// get asks for a path, with a key or without one.
func (h *host) get(path, key string) (status int, body string) {
	h.t.Helper()
	status, body, err := h.tryGet(path, key)
	if err != nil {
		h.t.Fatal(err)
	}
	return status, body
}

func (h *host) tryGet(path, key string) (status int, body string, err error) {
	req, err := http.NewRequest("GET", "http://127.0.0.1:"+h.port+path, nil)
	if err != nil {
		return 0, "", err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// fill puts the port and the token into requests.
func (h *host) fill(requests []string) (all []string) {
	r := strings.NewReplacer("\n", "\r\n", "{port}", h.port, "{token}", h.token())
	for _, request := range requests {
		all = append(all, r.Replace(request))
	}
	return all
}

func TestServeStartsAnswersAndStops(t *testing.T) {
	h := newHost(t)
	if st := h.status(); st.Running || st.Token != "" {
		t.Fatalf("before: %+v", st)
	}
	if _, err := os.Stat(h.file()); err == nil {
		t.Error("status has made files")
	}
	out := h.run("serve", "start", "--port", h.port)
	if url := "url http://127.0.0.1:" + h.port + "/mcp\n"; !strings.Contains(out, url) || strings.Contains(out, h.token()) {
		t.Errorf("start says %q", out)
	}
	first, since := h.status(), h.daemon().Parts[servePart].Since
	if !first.Running || !first.Answers || strconv.Itoa(first.Port) != h.port || first.Root != h.root() || first.Dir != h.home {
		t.Errorf("%+v", first)
	}
	if env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(first.PID), "environ")); err == nil && strings.Contains(string(env), "hush") {
		t.Error("it keeps a key of the shell that started it")
	}
	if dir, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(first.PID), "cwd")); err == nil && dir != "/" {
		t.Errorf("it keeps %s busy", dir)
	}
	if code, body := h.get("/healthz", ""); code != 200 || body != `{"ok":true,"version":"`+first.Version+"\"}\n" {
		t.Errorf("health: %d %q", code, body)
	}
	if code, _ := h.get("/metrics", ""); code != 401 {
		t.Errorf("metrics without a token: %d", code)
	}
	if code, body := h.get("/metrics", h.token()); code != 200 || !strings.Contains(body, "c2c_http_refused_total{reason=\"key\"} 1\n") {
		t.Errorf("metrics: %d %q", code, body)
	}
	if out := h.run("serve", "start"); !strings.Contains(out, "runs already") || h.status().PID != first.PID {
		t.Errorf("a second start: %s", out)
	}
	if out, err := h.try("serve", "start", "--port", "9"); err == nil || !strings.Contains(out, "at port "+h.port) || !strings.Contains(out, "c2c serve restart --port 9 moves it") {
		t.Errorf("a second start, at another port: %v, %s", err, out)
	}
	if out, err := h.try("serve", "run"); err == nil || !strings.Contains(out, "runs already") {
		t.Errorf("a second one in front: %v, %s", err, out)
	}
	token := h.token()
	restart := h.command("serve", "restart")
	restart.Dir = t.TempDir() // clients that name no project keep theirs
	if out, err := restart.CombinedOutput(); err != nil || !strings.Contains(string(out), h.port) || h.token() != token {
		t.Errorf("restart: %v, %s", err, out)
	}
	if st := h.status(); st.PID != first.PID || h.daemon().Parts[servePart].Since == since || st.Dir != h.home || !st.Answers {
		t.Errorf("restarted: %+v", st)
	}
	h.run("serve", "stop")
	if st := h.status(); st.Running || st.Stranger {
		t.Errorf("stopped: %+v", st)
	}
	if _, err := os.Stat(h.file("http-mcp.json")); err == nil {
		t.Error("http-mcp.json stays")
	}
	if out := h.run("serve", "stop"); !strings.Contains(out, "no HTTP daemon runs") {
		t.Errorf("a second stop: %s", out)
	}
	log, err := os.ReadFile(h.file("daemon", "daemon.log"))
	if err != nil || !strings.Contains(string(log), "HTTP daemon ends") || strings.Contains(string(log), token) {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestTheOldTokenIsWorthNothing(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	old := h.token()
	byHand := `{"mcpServers": {"c2c": {"type": "http", "url": "` + h.url("/mcp") + `", "headers": {"X-C2C-Project": "/p"}}}}`
	if err := os.WriteFile(filepath.Join(h.home, ".claude.json"), []byte(byHand), 0o600); err != nil {
		t.Fatal(err)
	}
	login := h.file("http", "page")
	if err := errors.Join(os.Mkdir(login, 0o700), os.WriteFile(filepath.Join(login, "x.json"), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	// c2c install has no --http for that client.
	if out := h.run("serve", "rotate-token"); strings.Contains(out, h.token()) || h.token() == old || !strings.HasSuffix(out, "\nclaude: it has the old token\n") {
		t.Errorf("it says %q", out)
	}
	if left, err := os.ReadDir(login); err != nil || len(left) > 0 {
		t.Errorf("logins of the page that are left: %v, %v", left, err)
	}
	if code, _ := h.get("/metrics", old); code != 401 {
		t.Errorf("the old one: %d", code)
	}
	if code, _ := h.get("/metrics", h.token()); code != 200 {
		t.Errorf("the new one: %d", code)
	}
}

// A crash leaves files that say that it runs.
func TestADaemonThatWasKilledIsShownAsDownAndStartsAgain(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	for _, verb := range []string{"status", "start", "doctor", "stop"} {
		pid := h.status().PID
		if pid == 0 {
			t.Fatal("it does not run")
		}
		h.kill(pid)
		switch verb {
		case "status":
			if out, err := h.try("serve", "status"); exitOf(err) != cli.Nothing || !strings.Contains(out, "no HTTP daemon runs") {
				t.Error(out)
			}
		case "doctor":
			if out, _ := h.try("doctor", "--verbose"); !strings.Contains(out, "daemon: does not run, although serve is on") {
				t.Error(out)
			}
		default:
			h.run("serve", verb)
		}
		h.run("serve", "start")
		if st := h.status(); !st.Answers || strconv.Itoa(st.Port) != h.port {
			t.Errorf("after %s it starts as %+v", verb, st)
		}
	}
}

// kill ends a daemon at once, and waits until its lock is free.
func (h *host) kill(pid int) {
	h.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	lock, err := os.OpenFile(h.file("daemon", "daemon.lock"), os.O_RDWR, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.FcntlFlock(lock.Fd(), syscall.F_SETLKW, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
		h.t.Fatal(err)
	}
}

// stop has a process stand still, and waits until each of its threads does: one may answer once more.
func (h *host) stop(pid int) {
	h.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		h.t.Fatal(err)
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // elsewhere nothing tells
	for _, path := range threads {
		for state := ""; state != "T"; {
			stat, err := os.ReadFile(path)
			if err != nil {
				break // it has ended
			}
			_, behind, _ := strings.Cut(string(stat), ") ")
			state, _, _ = strings.Cut(behind, " ")
		}
	}
}

// A daemon that was killed has its lock for another moment.
func TestAStartBehindAKillStartsAnother(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	pid := h.status().PID
	h.stop(pid)
	if out, err := h.try("serve", "start"); err == nil || !strings.Contains(out, "does not answer") {
		t.Errorf("one that stands still runs: %v %s", err, out)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.run("serve", "start")
	if st := h.status(); !st.Answers || st.PID == pid {
		t.Errorf("%+v", st)
	}
}

func TestOfManyStartsOneDaemonRuns(t *testing.T) {
	h := newHost(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if out, err := h.try("serve", "start", "--port", h.port); err != nil && !strings.Contains(out, "runs already") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	st := h.status()
	if !st.Running || !st.Answers {
		t.Errorf("%+v", st)
	}
	h.run("serve", "stop")
	if h.status().Running {
		t.Error("one is left")
	}
}

// Clients know the port, and send the token there.
func TestAStrangerAtThePortIsTold(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("serve", "stop")
	l, err := net.Listen("tcp", "127.0.0.1:"+h.port)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if out, err := h.try("serve", "start"); err == nil || !strings.Contains(out, "port "+h.port+" of this machine is taken") || !strings.Contains(out, "hint: ") {
		t.Errorf("start: %v, %s", err, out)
	}
	if out, err := h.try("serve", "status"); exitOf(err) != cli.Nothing || !strings.Contains(out, "another program listens at port "+h.port) {
		t.Errorf("status: %s", out)
	}
	if out, err := h.try("doctor", "--verbose"); err == nil || !strings.Contains(out, "another program listens at port "+h.port) {
		t.Errorf("doctor: %v, %s", err, out)
	}
	if out := h.run("serve", "start", "--port", "0"); strings.Contains(out, ":"+h.port+"/") {
		t.Errorf("another port: %s", out)
	}
	if st := h.status(); !st.Answers || st.Stranger {
		t.Errorf("%+v", st)
	}
}

func TestServeRefusesWhatIsNoPort(t *testing.T) {
	h := newHost(t)
	for _, args := range [][]string{{"--port", "65536"}, {"--port", "-1"}, {"--port", "x"}} {
		if out, err := h.try(append([]string{"serve", "start"}, args...)...); err == nil || !strings.Contains(out, args[1]) {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
	if _, err := os.Stat(h.file()); err == nil {
		t.Error("files were made")
	}
}

// What stands in the way is told by start, and nobody is told that a daemon listens.
func TestAFileThatCannotBeWrittenIsToldByStart(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("serve", "stop")
	for _, name := range []string{"http/port", "http-mcp.json", "http-mcp-token"} {
		path := h.file(name)
		kept, _ := os.ReadFile(path)
		os.Remove(path)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := h.try("serve", "start", "--port", h.port); err == nil || !strings.Contains(out, filepath.Base(path)) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
		if _, err := os.ReadFile(h.file("http-mcp.json")); err == nil {
			t.Errorf("%s: clients are told of a daemon", name)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if kept != nil {
			if err := os.WriteFile(path, kept, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.run("serve", "start")
	if st := h.status(); !st.Answers || strconv.Itoa(st.Port) != h.port {
		t.Errorf("%+v", st)
	}
}

// systemd ends a unit with SIGTERM.
func TestTheDaemonInFrontEndsWhenItIsToldTo(t *testing.T) {
	h := newHost(t)
	cmd := h.command("serve", "run", "--port", h.port)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.Contains(line, ":"+h.port+"/mcp") {
		t.Errorf("%q, %v", line, err)
	}
	if code, _ := h.get("/healthz", ""); code != 200 {
		t.Errorf("health: %d", code)
	}
	if st := h.status(); st.PID != cmd.Process.Pid { // c2c runs c2cd in its own place
		t.Errorf("process %d, want %d", st.PID, cmd.Process.Pid)
	}
	h.run("daemon", "restart") // it stays the process that somebody waits for
	h.until("it answers again", func() bool { return h.status().Answers })
	if st := h.status(); st.PID != cmd.Process.Pid {
		t.Errorf("restarted as process %d, want %d", st.PID, cmd.Process.Pid)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if st := h.status(); st.Running {
		t.Errorf("%+v", st)
	}
}

// An update replaces the program of a daemon that runs, and both may call themselves by one version.
func TestADaemonOfAnotherBuildIsTold(t *testing.T) {
	h := newHost(t)
	shared := h.bin
	h.bin = t.TempDir() // other tests use those programs, too
	if err := os.CopyFS(h.bin, os.DirFS(shared)); err != nil {
		t.Fatal(err)
	}
	h.run("serve", "start", "--port", h.port)
	if st := h.daemon(); st.Build == "" || st.Other {
		t.Fatalf("%+v", st)
	}
	path := filepath.Join(h.bin, "c2cd")
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	install := func(program []byte) {
		t.Helper()
		if err := os.WriteFile(path+".new", program, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	install(program)
	if st := h.daemon(); st.Other {
		t.Errorf("the same build, installed again: %+v", st)
	}
	if out, _ := h.try("doctor", "--verbose"); strings.Contains(out, "another build") || strings.Contains(out, "another version") {
		t.Errorf("the same build, installed again: %s", out)
	}
	id := []byte(h.daemon().Build)
	other := bytes.Clone(id)
	other[0] ^= 1
	install(bytes.ReplaceAll(program, id, other))
	if out := h.run("daemon", "status"); !strings.Contains(out, "c2c daemon restart") {
		t.Errorf("status: %s", out)
	}
	if out, _ := h.try("doctor", "--verbose"); strings.Count(out, "c2c daemon restart") != 1 {
		t.Errorf("doctor: %s", out)
	}
	before := h.daemon()
	h.run("daemon", "restart")
	h.until("it answers", func() bool { return h.status().Answers })
	if st := h.daemon(); st.Other || st.Build != string(other) || st.PID != before.PID {
		t.Errorf("restarted: %+v, it was %+v", st, before)
	}
}
