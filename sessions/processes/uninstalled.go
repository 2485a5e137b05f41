package processes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"c2c/client"
	"c2c/inbox/atomicfile"
	"c2c/project"
)

// A client may still run when c2c is uninstalled, with our server, plugin and hooks in it. They must not wake it, type
// there or answer it any more, and nothing ends them. So uninstall leaves a note for them in the state directory:
//
//	uninstalled/<client>	"<boot> <start>": when uninstall ran, as the start of its process
//	uninstalled/<client>	"<boot> <start> <directory>": the same, while another configuration of the client stays set up
//
// A client that was started later has what its person has set up since, such as a plugin, and is served.

const (
	uninstalledDir = "uninstalled"
	maxMark        = 8192 // bytes
)

// MarkUninstalled tells the running programs of a client that c2c was taken out of it. Where c2c has never kept any state,
// there is no session to tell, and nothing is written. config is the configuration directory, if it is for that one alone.
func MarkUninstalled(getenv func(string) string, client, config string) error {
	state, _ := project.StateDir(getenv)
	if _, err := os.Stat(state); state == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	proc := &System{}
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

// ClearUninstalled has the running programs of a client be served again.
func ClearUninstalled(getenv func(string) string, client string) error {
	state, _ := project.StateDir(getenv)
	if _, _, other := readMark(getenv, state, client); other {
		return nil
	}
	path := filepath.Join(state, uninstalledDir, client)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	os.Remove(filepath.Dir(path)) // unless another client's is there
	return nil
}

// Uninstalled says whether c2c was taken out of a client while its process ran. A process that cannot be seen, or is not
// known (0), counts as one that ran.
func Uninstalled(getenv func(string) string, client string, pid int) bool {
	state, _ := project.StateDir(getenv)
	if state == "" || client == "" {
		return false
	}
	at, start, other := readMark(getenv, state, client)
	proc := &System{}
	if at == "" || other || at != boot(proc) {
		return false // what ran then has ended with the system
	}
	p, err := proc.Find(pid)
	return err != nil || p.Start < start
}

// readMark reads when c2c was taken out of a client: at is empty if it was not, or nothing can be read. other says that it
// was taken out of another configuration than that of the environment.
func readMark(getenv func(string) string, state, name string) (at string, start int64, other bool) {
	data, err := atomicfile.ReadForeign(filepath.Join(state, uninstalledDir, name), maxMark)
	words := strings.SplitN(strings.TrimSpace(string(data)), " ", 3)
	if err != nil || len(words) < 2 {
		return "", 0, false
	}
	if start, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		return "", 0, false
	}
	if len(words) == 3 {
		p, _ := client.Find(name)
		dir, _ := p.Config(getenv)
		other = dir != words[2]
	}
	return words[0], start, other
}

// boot names the time since the system was started: start times of processes count from there.
func boot(proc Table) string {
	if is := strings.Fields(proc.Namespace()); len(is) > 1 {
		return is[1]
	}
	return "-"
}
