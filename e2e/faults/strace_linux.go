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

// changes are the system calls that change the disk, or take the locks that protect it.
var changes = []string{"openat", "mkdirat", "unlinkat", "renameat", "renameat2", "linkat", "write", "pwrite64", "fsync",
	"fdatasync", "ftruncate", "fchmod", "fchmodat", "fchownat", "copy_file_range", "sendfile", "splice", "fcntl"}

// looks are the system calls that only read. c2c must not take their errors for an empty file.
// close is not in the list: if strace makes it fail, the file stays open and its lock stays held,
// but the real close closes the file even if it returns an error.
var looks = []string{"read", "pread64", "fstat", "newfstatat", "getdents64", "lseek", "readlinkat"}

// fault is one error, or a SIGKILL, at the n-th call of a system call.
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

// words returns the error's text as a person reads it.
func (f fault) words() string {
	return map[string]string{"EIO": "input/output error", "ENOSPC": "no space left on device"}[f.what]
}

// result is one run under strace.
type result struct {
	code           int
	killed, hung   bool
	hit            bool  // the fault happened
	beside         error // the error of the process that worked at the same time
	stdout, stderr string
	calls          []call
}

// call is one system call of a trace: the n-th of its name in its thread.
type call struct {
	name, args string
	n          int
}

// trace runs a command under strace, without a fault if f is nil.
func (p *place) trace(s *scenario, f *fault) (*result, error) {
	out := p.dir + ".strace"
	names := append(slices.Clone(changes), looks...)
	words := []string{"strace", "-f", "-y", "-qq", "-s", "160", "-o", out, "-e", "trace=?" + strings.Join(names, ",?")}
	if s.starts {
		words = append(words, "-b", "execve") // strace lets such a process go on by itself
	}
	if f != nil {
		words = append(words, "-e", "inject="+f.String())
	}
	if f == nil || f.what != kill { // a faster mode, which cannot inject signals
		words = append(words, "--seccomp-bpf")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := p.command(ctx, s.as, s.stdin, append(words, p.program(s.command)...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// strace and the program get a process group of their own, because killing only strace would
	// let the program go on.
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
	r := &result{beside: wait(), stdout: stdout.String(), stderr: stderr.String()}
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
	late, foreign := ctx.Err() != nil, f != nil && f.metForeign(r.calls)
	r.hung = late && !foreign
	// Two threads may both make their n-th call: then the fault came twice, and the run does not
	// count.
	r.hit = r.killed && !late || bytes.Count(data, []byte("(INJECTED)")) == 1 && !foreign
	return r, nil
}

var callLine = regexp.MustCompile(`(?m)^(\d+) +([a-z0-9_]+)\((.*)$`)

// parse counts the calls as strace does: separately for each thread.
func parse(trace string) (calls []call) {
	seen := map[string]int{}
	for _, m := range callLine.FindAllStringSubmatch(trace, -1) {
		seen[m[1]+m[2]]++
		calls = append(calls, call{m[2], m[3], seen[m[1]+m[2]]})
	}
	return calls
}

// faults returns each possible fault at each call, once. If a call must not fail in one thread, it
// is left out for all threads.
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

// foreign reports whether only the Go runtime makes this call, or whether the kernel never lets it
// fail. The runtime wakes a thread through its eventfd, and ends the program if it cannot. It reads
// 8 bytes from a pipe to learn whether a process that it starts has begun its program.
func (c call) foreign() bool {
	return c.name == "read" && strings.Contains(c.args, ", 8) ") ||
		slices.ContainsFunc([]string{`"/sys/`, `"/proc/self`, "F_GETFD", "<anon_inode:"}, func(part string) bool { return strings.Contains(c.args, part) })
}

// metForeign reports whether the fault may have hit the runtime's own call. The runtime wakes
// threads at random moments, and that changes the count of writes.
func (f fault) metForeign(calls []call) bool {
	return slices.ContainsFunc(calls, func(c call) bool { return c.name == f.call && c.n == f.n && c.foreign() })
}

// failures returns the faults that are possible at a call. It leaves out a kill if nothing has
// changed since the last call.
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

// permitted returns an error that explains why strace cannot be used here.
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
