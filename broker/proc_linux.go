package broker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// system is the machine's process table, from /proc.
type system struct{}

func (system) self() int { return os.Getpid() }

func (system) find(pid int) (process, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, errNoProcess // or ESRCH: it went between open and read
	}
	return parseStat(pid, string(data))
}

// parseStat reads what follows the command's name, which may itself hold spaces and parentheses.
func parseStat(pid int, stat string) (process, error) {
	_, rest, _ := cutLast(stat, ')')
	fields := strings.Fields(rest)
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

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
