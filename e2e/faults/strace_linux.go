package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// changes are the system calls that change the disk, or take the locks that guard it.
var changes = []string{"openat", "mkdirat", "unlinkat", "renameat", "renameat2", "linkat", "write", "pwrite64", "fsync",
	"fdatasync", "ftruncate", "fchmod", "fchmodat", "fchownat", "copy_file_range", "sendfile", "splice", "fcntl"}

// looks are the system calls that only read: an error must not pass for an empty file. close is not here: with a fault strace
// would leave the file open, and its lock held, but the kernel closes the file even with an error.
var looks = []string{"read", "pread64", "fstat", "newfstatat", "getdents64", "lseek", "readlinkat"}

// fault is one error, or a SIGKILL, at the N-th of some system call.
type fault struct {
	call string
	what string // EIO, ENOSPC or KILL
	n    int
}

func (f fault) String() string {
	kind := "error"
	if f.what == kill {
		kind = "signal"
	}
	return fmt.Sprintf("%s:%s=%s:when=%d", f.call, kind, f.what, f.n)
}

const kill = "KILL"

func (f fault) isSync() bool { return strings.HasSuffix(f.call, "sync") }

// words are how a person reads the error.
func (f fault) words() string {
	return map[string]string{"EIO": "input/output error", "ENOSPC": "no space left on device"}[f.what]
}

// result is one run under strace.
type result struct {
	code           int
	killed, hung   bool
	hit            bool  // the fault came
	beside         error // of the process that worked beside it
	stdout, stderr string
	calls          []call
}

// call is one system call of a trace: the n-th of its name in its thread.
type call struct {
	name, args string
	n          int
}

// trace runs a command, without a fault when f is nil.
func (p *place) trace(s *scenario, f *fault) (*result, error) {
	out := p.dir + ".strace"
	names := append(slices.Clone(changes), looks...)
	words := []string{"strace", "-f", "-qq", "-s", "160", "-o", out, "-e", "trace=?" + strings.Join(names, ",?")}
	if f != nil {
		words = append(words, "-e", "inject="+f.String())
	}
	if f == nil || f.what != kill { // this mode is quicker, but cannot inject signals
		words = append(words, "--seccomp-bpf")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := p.command(ctx, s.as, s.stdin, append(words, p.program(s.command)...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A group of their own: killing strace alone would let the program go on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	wait := func() error { return nil }
	if s.beside != nil {
		var err error
		if wait, err = s.beside(p); err != nil {
			return nil, err
		}
	}
	err := cmd.Run()
	r := &result{beside: wait(), hung: ctx.Err() != nil, stdout: stdout.String(), stderr: stderr.String()}
	if ended := new(exec.ExitError); errors.As(err, &ended) {
		r.code, r.killed = ended.ExitCode(), ended.Sys().(syscall.WaitStatus).Signaled()
	} else if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("strace wrote no trace: %w: %s", err, r.stderr)
	}
	r.calls = parse(string(data))
	r.hit = r.killed || bytes.Count(data, []byte("(INJECTED)")) == 1 && !f.metForeign(r.calls) // two threads may both come to their N-th
	return r, nil
}

var callLine = regexp.MustCompile(`(?m)^(\d+) +([a-z0-9_]+)\((.*)$`)

// parse counts as strace does: separately in each thread.
func parse(trace string) (calls []call) {
	seen := map[string]int{}
	for _, m := range callLine.FindAllStringSubmatch(trace, -1) {
		seen[m[1]+m[2]]++
		calls = append(calls, call{m[2], m[3], seen[m[1]+m[2]]})
	}
	return calls
}

// faults lists each possible fault at each call once. A call that must not fail in one thread is left out in all.
func faults(calls []call) (all []fault) {
	known := map[fault]bool{}
	for _, c := range calls {
		for _, what := range []string{kill, "EIO", "ENOSPC"} {
			f := fault{c.name, what, c.n}
			if c.foreign() || known[f] {
				known[f] = true
			} else if slices.Contains(c.failures(), what) {
				known[f] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// wake is what the Go runtime writes into its eventfd, to wake a thread of its own. The kernel never lets that
// fail, and the runtime ends the program if it does.
const wake = `"\1\0\0\0\0\0\0\0", 8`

// foreign is what only the Go runtime asks.
func (c call) foreign() bool {
	return slices.ContainsFunc([]string{`"/sys/`, `"/proc/self`, "F_GETFD", wake}, func(part string) bool { return strings.Contains(c.args, part) })
}

// metForeign reports whether the fault may have hit the runtime's own call. The runtime wakes threads at random moments, and
// that changes the count of writes.
func (f fault) metForeign(calls []call) bool {
	return slices.ContainsFunc(calls, func(c call) bool { return c.name == f.call && c.n == f.n && c.foreign() })
}

// failures leaves out a kill if nothing has changed since the last one.
func (c call) failures() []string {
	creates := strings.Contains(c.args, "O_CREAT")
	locks := strings.Contains(c.args, "LK")
	switch {
	case c.name == "fcntl" && !locks:
		return nil
	case slices.Contains(looks, c.name), c.name == "openat" && !creates:
		return []string{"EIO"}
	case c.name == "fcntl", c.name == "unlinkat":
		return []string{kill, "EIO"}
	}
	return []string{kill, "EIO", "ENOSPC"}
}

// permitted says why strace cannot be used here.
func permitted() error {
	if _, err := exec.LookPath("strace"); err != nil {
		return fmt.Errorf("install strace")
	}
	out, err := exec.Command("strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync",
		"-e", "inject=fsync:error=EIO:when=1", "true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("strace may not trace here (%v: %s); a container needs --cap-add SYS_PTRACE, "+
			"and sysctl kernel.yama.ptrace_scope must be below 3", err, bytes.TrimSpace(out))
	}
	return nil
}
