package procstat

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Terminal is a process with a terminal, and the folder in which it is.
type Terminal struct {
	PID, Parent int
	Args        []string // at least one
	Folder      string
	Env         []string
}

// Terminals lists the processes of this user that have a terminal, as far as they can be seen.
func Terminals() (all []Terminal) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		info, err := os.Stat(dir)
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() { // root sees those of others, too
			continue
		}
		stat, err := Read(pid)
		if err != nil || stat.Terminal == 0 {
			continue
		}
		folder, err := os.Readlink(dir + "/cwd")
		args, aerr := ReadFile(dir + "/cmdline")
		env, eerr := os.ReadFile(dir + "/environ")
		if err == nil && aerr == nil && eerr == nil && len(args) > 0 {
			all = append(all, Terminal{pid, stat.Parent, words(args), folder, words(env)})
		}
	}
	return all
}
