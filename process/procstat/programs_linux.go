package procstat

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Program is a process and what it runs.
type Program struct {
	PID, Parent int
	Args        []string
	Env         []string
	File        os.FileInfo // of its program, which may have another name or none by now
}

// Programs lists the processes of this user whose program is called so, as far as they can be seen.
func Programs(name string) (all []Program) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		exe, err := os.Readlink(dir + "/exe")
		if err != nil || filepath.Base(strings.TrimSuffix(exe, " (deleted)")) != name {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		file, err := os.Stat(dir + "/exe")
		stat, serr := Read(pid)
		env, eerr := os.ReadFile(dir + "/environ") // of our own processes alone
		args, aerr := os.ReadFile(dir + "/cmdline")
		if slices.ContainsFunc([]error{err, serr, eerr, aerr}, func(err error) bool { return err != nil }) {
			continue // it has just ended
		}
		all = append(all, Program{PID: pid, Parent: stat.Parent, File: file, Args: words(args), Env: words(env)})
	}
	return all
}

func words(data []byte) []string {
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
