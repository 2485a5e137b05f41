package codex

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"c2c/e2e/need"
	"c2c/e2e/waketest"
	"c2c/wake"
)

// TestMain lets the test binary be Codex as well, which the queue finds by its process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "queue" || os.Args[1] == "exec") {
		os.Exit(standIn(os.Args[1]))
	}
	os.Exit(m.Run())
}

func standIn(verb string) int {
	if verb == "exec" { // lives until its input ends
		os.Stdin.Read(make([]byte, 1))
		return 0
	}
	home := os.Getenv("CODEX_HOME")
	if _, err := os.Stat(filepath.Join(home, "refuse")); err == nil {
		os.Stderr.WriteString("no such thread\x1b[0m")
		return 1
	}
	said := strings.Join(os.Args[1:], "\n") + "\n" + strings.Join(os.Environ(), "\n")
	if err := os.WriteFile(filepath.Join(home, "queued"), []byte(said), 0o600); err != nil {
		return 1
	}
	return 0
}

// queueOf is for a thread that nobody has open yet.
func queueOf(t *testing.T) *queue {
	return &queue{Home: t.TempDir(), Thread: t.Name(), Unattended: true, Getenv: func(key string) string { return "my-" + key }}
}

// lockOf is the lock file of the queue's thread. Whoever has it open has the thread open.
func lockOf(t *testing.T, q *queue) *os.File {
	t.Helper()
	dir := filepath.Join(q.Home, "thread-writer-locks")
	q.Thread = "thread-" + filepath.Base(filepath.Dir(q.Home)) + filepath.Base(q.Home)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, q.Thread+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// openQueue is for a thread that this process has open.
func openQueue(t *testing.T) *queue {
	q := queueOf(t)
	lockOf(t, q)
	return q
}

func TestTheQueueGetsALineAndNoKeys(t *testing.T) {
	t.Setenv("SOME_KEY", "secret")
	q := openQueue(t)
	if err := q.Ring(t.Context(), wake.Notice{Count: 2, From: []string{"amber", "birch"}, Oldest: "a"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(q.Home, "queued"))
	want := strings.Join([]string{"queue", "--thread", q.Thread, "--message",
		`<c2c event="message_pending" count="2" from="amber,birch">call the c2c tool poll_inbox</c2c>`,
		"HOME=my-HOME", "PATH=my-PATH", "CODEX_HOME=" + q.Home}, "\n")
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

func TestQueue(t *testing.T) {
	waketest.Run(t, waketest.Adapter{
		Idle: func(t *testing.T) waketest.Client {
			q := openQueue(t)
			return waketest.Client{Bell: q, Next: func() string {
				path := filepath.Join(q.Home, "queued")
				said, err := os.ReadFile(path)
				if err == nil {
					err = os.Remove(path)
				}
				if err != nil {
					t.Fatal(err)
				}
				return strings.Split(string(said), "\n")[4]
			}}
		},
		Gone: waketest.Bells{
			"it has ended": func(t *testing.T) wake.Doorbell { return queueOf(t) },
			"codex exec":   func(t *testing.T) wake.Doorbell { return execQueue(t) },
		},
		Deaf: waketest.Bells{
			"it refuses": func(t *testing.T) wake.Doorbell {
				q := openQueue(t)
				if err := os.WriteFile(filepath.Join(q.Home, "refuse"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				return q
			},
		},
	})
}

// execQueue is for a thread of a `codex exec`, which takes a queued line at its end and never
// answers it.
func execQueue(t *testing.T) *queue {
	t.Helper()
	q := queueOf(t)
	cmd := exec.Command(os.Args[0], "exec")
	lock := lockOf(t, q)
	cmd.ExtraFiles = []*os.File{lock}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lock.Close()
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return q
}

func TestAQueueThatNoTerminalLooksAtIsLeftAlone(t *testing.T) {
	q := openQueue(t)
	q.Unattended = false
	if err := q.Ring(t.Context(), wake.Notice{Count: 1, Oldest: "a"}); !errors.Is(err, wake.ErrAway) {
		t.Errorf("error %v", err)
	}
}

// The program of the process that has the thread open is run, so root must not take another user's
// process for it.
func TestAProcessOfAnotherUserHasNoThreadOfOurs(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Skip(t, "run the tests as root, who alone sees another user's open files")
	}
	q := queueOf(t)
	lock := lockOf(t, q)
	other := exec.Command("sleep", "60")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	other.ExtraFiles = []*os.File{lock}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	lock.Close()
	t.Cleanup(func() {
		other.Process.Kill()
		other.Wait()
	})
	if p, found := writer(processes(q.Home), q.Thread); found {
		t.Errorf("process %d of user 65534 is taken for the Codex that has the thread open", p.pid)
	}
}

func TestALockFileOutsideOfCodexHomeIsNoThread(t *testing.T) {
	q := openQueue(t)
	if p, found := writer(processes(t.TempDir()), q.Thread); found {
		t.Errorf("process %d has the thread open by a lock file that is elsewhere", p.pid)
	}
	link := filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(q.Home, link); err != nil {
		t.Fatal(err)
	}
	if _, found := writer(processes(link), q.Thread); !found {
		t.Error("not found by a link to CODEX_HOME")
	}
}

// A Codex that has done nothing for ten minutes has closed its databases.
func TestACodexWithoutOpenDatabasesIsSeen(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "tmp", "arg0-linux", "codex-arg0x")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if p := processOf(os.Getpid(), home); p.client {
		t.Error("it is seen without a file of that home")
	}
	f, err := os.Create(filepath.Join(dir, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := processOf(os.Getpid(), home); !p.client {
		t.Error("it is not seen")
	}
}
