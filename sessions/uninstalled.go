package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"c2c/client"
	"c2c/internal/atomicfile"
	"c2c/project"
)

// When c2c is uninstalled, a client may still run, with our server, plugin and hooks in it. These
// must no longer wake the client, type into it or answer it, but nothing ends them. So uninstall
// leaves a note for them in the state directory:
//
//	uninstalled/<client>	"<boot> <start>": the boot, and the start time of the process of uninstall
//	uninstalled/<client>	"<boot> <start> <directory>": the same, if only the configuration in this directory was changed
//
// c2c serves a client that was started after the uninstall, because its user has set c2c up again,
// perhaps with a plugin.

const (
	uninstalledDir = "uninstalled"
	maxMark        = 8192 // bytes
)

// MarkUninstalled leaves the note for our programs in a running client. It writes nothing if c2c
// has never stored any state, because then there are no sessions. The argument config is the
// client's configuration directory if only this one was changed, otherwise "".
func MarkUninstalled(getenv func(string) string, client, config string) error {
	state, _ := project.StateDir(getenv)
	if _, err := os.Stat(state); state == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	proc := &SystemProcesses{}
	self, err := proc.Find(proc.Self())
	if err != nil {
		return fmt.Errorf("find the time of this uninstall: %w", err)
	}
	dir, err := atomicfile.Create(filepath.Join(state, uninstalledDir))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Write(client, []byte(strings.TrimSpace(fmt.Sprintf("%s %d %s", boot(proc), self.Start, config))+"\n"))
}

// ClearUninstalled removes the note, so that our programs in a running client serve it again. It
// keeps a note about another configuration.
func ClearUninstalled(getenv func(string) string, client string) error {
	state, _ := project.StateDir(getenv)
	if _, _, other := readMark(getenv, state, client, 0); other {
		return nil
	}
	path := filepath.Join(state, uninstalledDir, client)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	os.Remove(filepath.Dir(path)) // fails if there is a note for another client
	return nil
}

// Uninstalled reports whether c2c was uninstalled from a client while its process pid ran. If the
// client has a note, Uninstalled also returns true for a process that c2c cannot see or does not
// know (0).
func Uninstalled(getenv func(string) string, client string, pid int) bool {
	state, _ := project.StateDir(getenv)
	if state == "" || client == "" {
		return false
	}
	during, start, other := readMark(getenv, state, client, pid)
	proc := &SystemProcesses{}
	if during == "" || other || during != boot(proc) {
		return false // no note, or all processes from before the uninstall have ended with that boot
	}
	p, err := proc.Find(pid)
	return err != nil || p.Start < start
}

// readMark reads the note about a client: the boot during which c2c was uninstalled, and the start
// time of the process that did it. If there is no note, or if it is unreadable, the result during
// is "". The result other is true if the note is about another configuration than the one of the
// client's process pid. If c2c does not see the variables of that process, those of getenv count.
func readMark(getenv func(string) string, state, name string, pid int) (during string, start int64, other bool) {
	data, err := atomicfile.ReadForeign(filepath.Join(state, uninstalledDir, name), maxMark)
	words := strings.SplitN(strings.TrimSpace(string(data)), " ", 3)
	if err != nil || len(words) < 2 {
		return "", 0, false
	}
	if start, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		return "", 0, false
	}
	if len(words) == 3 {
		if env := (&SystemProcesses{}).Environ(pid); env != nil {
			getenv = EnvironmentOf(env)
		}
		p, _ := client.Find(name)
		dir, _ := p.Config(getenv)
		other = dir != words[2]
	}
	return words[0], start, other
}

// boot returns the id of the current boot of the system. It is needed because start times of
// processes count from the boot.
func boot(proc ProcessTable) string {
	if is := strings.Fields(proc.Namespace()); len(is) > 1 {
		return is[1]
	}
	return "-"
}
