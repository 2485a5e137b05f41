package proc

import (
	"cmp"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Programs returns the visible processes of this user whose program has this name.
func Programs(name string) (all []Program) {
	for dir, pid := range processes() {
		exe, err := os.Readlink(dir + "/exe")
		if err != nil || filepath.Base(strings.TrimSuffix(exe, " (deleted)")) != name {
			continue
		}
		file, err := os.Stat(dir + "/exe")
		stat, serr := Read(pid)
		env, eerr := os.ReadFile(dir + "/environ") // readable only for our own processes
		args, aerr := os.ReadFile(dir + "/cmdline")
		if cmp.Or(err, serr, eerr, aerr) == nil { // an error means that the process has just ended, or is not ours
			all = append(all, Program{PID: pid, Parent: stat.Parent, File: file, Args: words(args), Env: words(env)})
		}
	}
	return all
}

// Terminals returns the visible processes of this user that have a terminal, but none from another
// PID namespace such as that of a sandbox: a session there has its process under another id.
func Terminals() (all []Terminal) {
	const namespace = "/ns/pid"
	here, _ := os.Readlink("/proc/self" + namespace)
	for dir, pid := range processes() {
		if is, _ := os.Readlink(dir + namespace); is != here || !isOurs(dir) {
			continue
		}
		stat, err := Read(pid)
		if err != nil || stat.Terminal == 0 {
			continue
		}
		folder, err := os.Readlink(dir + "/cwd")
		args, aerr := ReadFile(dir + "/cmdline")
		env, eerr := os.ReadFile(dir + "/environ")
		if cmp.Or(err, aerr, eerr) == nil && len(args) > 0 {
			all = append(all, Terminal{pid, stat.Parent, words(args), folder, words(env)})
		}
	}
	return all
}

// processes yields for each process its directory in /proc and its id.
func processes() iter.Seq2[string, int] {
	return func(yield func(dir string, pid int) bool) {
		dirs, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range dirs {
			if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && !yield(dir, pid) {
				return
			}
		}
	}
}

// isOurs reports whether a process belongs to this user. The check matters only for root, which can
// read the processes of all users.
func isOurs(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}

func words(data []byte) []string {
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
