package broker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// system is the machine's process table, from /proc.
type system struct {
	once sync.Once
	name string
}

func (*system) self() int { return os.Getpid() }

// namespace is the inode of our PID namespace. "" means that /proc shows another one's processes, as it does
// in a sandbox that has not mounted its own.
func (s *system) namespace() string {
	s.once.Do(func() {
		self, err := os.Readlink("/proc/self")
		if err != nil || self != strconv.Itoa(os.Getpid()) {
			return
		}
		if s.name, err = os.Readlink("/proc/self/ns/pid"); err != nil {
			s.name = "pid" // a kernel without namespaces
		}
	})
	return s.name
}

func (s *system) find(pid int) (process, error) {
	if s.namespace() == "" {
		return process{}, errHidden
	}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, errNoProcess // or ESRCH: it went between open and read
	}
	return parseStat(pid, string(data))
}

// parseStat reads what follows the command's name, which may itself hold spaces and parentheses.
func parseStat(pid int, stat string) (process, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, fmt.Errorf("read /proc/%d/stat: only %d fields", pid, len(fields))
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return process{}, errNoProcess
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
	}
	start, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return process{}, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
	}
	return process{pid: pid, parent: parent, start: start}, nil
}
