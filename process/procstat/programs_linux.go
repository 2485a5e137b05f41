package procstat

import (
	"cmp"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Programs lists the processes of this user whose program is called so, as far as they can be seen.
func Programs(name string) (all []Program) {
	for dir, pid := range processes() {
		exe, err := os.Readlink(dir + "/exe")
		if err != nil || filepath.Base(strings.TrimSuffix(exe, " (deleted)")) != name {
			continue
		}
		file, err := os.Stat(dir + "/exe")
		stat, serr := Read(pid)
		env, eerr := os.ReadFile(dir + "/environ") // of our own processes alone
		args, aerr := os.ReadFile(dir + "/cmdline")
		if cmp.Or(err, serr, eerr, aerr) == nil { // else it has just ended
			all = append(all, Program{PID: pid, Parent: stat.Parent, File: file, Args: words(args), Env: words(env)})
		}
	}
	return all
}

// Terminals lists the processes of this user that have a terminal, as far as they can be seen.
func Terminals() (all []Terminal) {
	for dir, pid := range processes() {
		if !isOurs(dir) {
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

// processes gives the directory in /proc of each process, and its id.
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

// isOurs says whether a process belongs to this user. Root could look at all.
func isOurs(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}

func words(data []byte) []string {
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
