package budget

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// statusID stands for the id of a message that waits, as send has printed it.
const statusID = "ID"

// event is what Claude Code writes to a hook.
const event = `{"hook_event_name":"PostToolUse","session_id":"budget-session"}`

// world is a HOME and a root in it, with the sessions amber, birch and cedar. birch is the one that
// calls.
type world struct {
	dir    string
	bin    string
	root   string
	sent   string // what statusID stands for
	inRoom bool   // its sessions are in a room
}

func newWorld(t *testing.T, bin string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{dir: dir, bin: bin, root: filepath.Join(dir, "root")}
	for _, name := range []string{"amber", "birch", "cedar"} {
		w.must(t, "register", name, "--session-id", name)
	}
	w.must(t, "hook") // it records the client's id
	w.must(t, "hook")
	words := strings.Fields(w.must(t, "send", "cedar", "the one whose status is asked for"))
	w.sent = words[len(words)-1]
	w.must(t, "send", "amber", "hello") // a mailbox that was used once
	nothingWaits("amber")(t, w)
	oneWaits("birch")(t, w)
	nothingWaits("birch")(t, w)
	return w
}

func (w *world) command(args ...string) *exec.Cmd {
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.Replace(args[i], statusID, w.sent, 1)
	}
	cmd := exec.Command(w.bin, args...)
	cmd.Dir, cmd.Stdin = w.dir, strings.NewReader(event)
	// With more threads, the runtime of Go reads the limits of the cgroup again while the command
	// runs, and touches more pages: by chance.
	cmd.Env = []string{"HOME=" + w.dir, "USER=budget", "PATH=" + filepath.Dir(w.bin) + ":" + os.Getenv("PATH"),
		"C2C_MCP_BROKER_ROOT=" + w.root, "C2C_MCP_SESSION_ID=birch", "CLAUDE_CODE_SESSION_ID=budget-session", "GOMAXPROCS=1"}
	return cmd
}

func (w *world) must(t *testing.T, args ...string) string {
	t.Helper()
	cmd := w.command(args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("c2c %q: %v: %s", args, err, errs.Bytes())
	}
	return string(out)
}

func nothingWaits(sid string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		t.Helper()
		w.must(t, "poll-inbox", "--session-id", sid)
	}
}

func oneWaits(sid string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		t.Helper()
		w.must(t, "send", sid, "hello", "--from", "cedar")
	}
}

// inRoom makes birch, and a member for each other alias, members of a room.
func inRoom(t *testing.T, w *world) {
	t.Helper()
	w.member(t)
}

// member makes the three sessions and 47 others members of a room, once.
func (w *world) member(t *testing.T) {
	t.Helper()
	if w.inRoom {
		return
	}
	w.inRoom = true
	b, err := broker.Open(broker.Config{Root: w.root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	rows, err := b.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if i >= 50 {
			break
		}
		if _, err := rooms.Join(t.Context(), b, b.Session(row), "review", true); err != nil {
			t.Fatal(err)
		}
	}
	nothingWaits("birch")(t, w)
}

// measure gives the lowest of several runs, which is what the command itself needs: the scheduler
// of Go may add a little to the page faults, and hardly ever a call.
func (w *world) measure(t *testing.T, args []string, before func(*testing.T, *world)) cost {
	t.Helper()
	least := cost{1 << 30, 1 << 30, 1 << 30, w.faults(t, args, before)}
	for range 6 {
		if before != nil {
			before(t, w)
		}
		c := w.trace(t, args)
		least.calls, least.opens, least.syncs = min(least.calls, c.calls), min(least.opens, c.opens), min(least.syncs, c.syncs)
	}
	return least
}

// faults counts the page faults of a program, as the lowest of several runs.
func (w *world) faults(t *testing.T, args []string, before func(*testing.T, *world)) int {
	t.Helper()
	least := 1 << 30
	for range 30 {
		if before != nil {
			before(t, w)
		}
		cmd := w.command(args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", w.bin, args, err, out)
		}
		least = min(least, int(cmd.ProcessState.SysUsage().(*syscall.Rusage).Minflt))
	}
	return least
}

// notCounted are the calls for memory, threads and signals, and the start and the end of the
// program.
const notCounted = " mmap munmap madvise mprotect brk mremap mincore futex clone clone3 vfork sched_yield sched_getaffinity gettid getpid tgkill " +
	"exit exit_group set_tid_address rseq set_robust_list arch_prctl prctl prlimit64 nanosleep clock_nanosleep clock_gettime " +
	"rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack timer_create timer_settime timer_delete restart_syscall wait4 waitid execve "

// trace counts the system calls of one run. It lets the registry look old: c2c reads a registry
// that is less than a second old again and again, so the count would depend on how fast the machine
// has come here.
func (w *world) trace(t *testing.T, args []string) (c cost) {
	t.Helper()
	if err := os.Chtimes(filepath.Join(w.root, sessions.RegistryFileName), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.dir, "trace")
	cmd := w.command(args...)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Args = strace, append([]string{"strace", "-f", "-qq", "-o", file}, cmd.Args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", cmd.Args, err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		_, line, _ = strings.Cut(line, " ") // the thread
		name, _, isCall := strings.Cut(strings.TrimLeft(line, " "), "(")
		switch {
		case !isCall || strings.HasPrefix(name, "<...") || strings.HasPrefix(name, "---") || strings.HasPrefix(name, "+++"):
			continue
		case strings.Contains(notCounted, " "+name+" "):
			continue
		case strings.HasPrefix(name, "open"):
			c.opens++
		case name == "fsync" || name == "fdatasync":
			c.syncs++
		}
		c.calls++
	}
	return c
}

// fill puts much into the root: mail that waits for cedar, mail that birch and cedar have read, and
// sessions.
func (w *world) fill(t *testing.T, messages, sessions int) {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: w.root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i := range sessions {
		caller := callers.Caller{Explicit: fmt.Sprintf("session-%d", i), Client: "claude", ClientID: fmt.Sprintf("client-%d", i)}
		if _, err := b.Attach(t.Context(), caller); err != nil {
			t.Fatal(err)
		}
	}
	for _, sid := range []string{"birch", "cedar"} {
		box, err := b.Mailbox(sid)
		if err != nil {
			t.Fatal(err)
		}
		deliver(t, box, sid, messages)
		lease, err := box.Lease(t.Context(), "budget", 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Ack(t.Context(), inbox.Handles(lease.Messages)...); err != nil {
			t.Fatal(err)
		}
		if sid == "cedar" {
			deliver(t, box, sid, messages)
		}
	}
}

func deliver(t *testing.T, box *inbox.Mailbox, to string, messages int) {
	t.Helper()
	const batch = 250 // about as much as an inbox file holds
	for range messages / batch {
		some := make([]mail.Message, batch)
		for i := range some {
			some[i] = mail.Message{From: "amber", To: to, Content: "one of many"}
		}
		if _, err := box.Deliver(context.Background(), some...); err != nil {
			t.Fatal(err)
		}
	}
}
