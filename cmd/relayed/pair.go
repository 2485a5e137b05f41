package relayed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/relay/hosts"
)

const (
	sshKeyFile = "ssh_key"
	sshKeyLock = "ssh_key.lock"
	maxAuthKey = 4 << 20 // of authorized_keys, in bytes
)

// SSHKey gives the public key, as a line, with which ssh of this host's relay goes to others. It makes it the first time: the relay
// runs without an agent that could hold a person's own key, and at the other end this one opens nothing but the relay.
func (r *Relay) SSHKey(ctx context.Context) (line string, err error) {
	err = filelock.With(ctx, r.Dir, sshKeyLock, func() error {
		path := filepath.Join(r.Dir.Path(), sshKeyFile)
		if _, err := r.Dir.Stat(sshKeyFile); errors.Is(err, fs.ErrNotExist) {
			if said, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "c2c-relay", "-f", path).CombinedOutput(); err != nil {
				return fmt.Errorf("make a key for ssh with ssh-keygen: %w: %.300s", err, bytes.TrimSpace(said))
			}
		} else if err != nil {
			return err
		}
		data, err := atomicfile.ReadForeign(path+".pub", 16<<10)
		line = strings.TrimSpace(string(data))
		return err
	})
	if err != nil {
		return "", err
	}
	return line, checkSSHKey(line)
}

// checkSSHKey refuses what is not one public key of ssh on one line: another host has sent it.
func checkSSHKey(line string) error {
	words := strings.Fields(line)
	bad := strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' })
	if bad || len(words) < 2 || len(line) > 2000 || !strings.HasPrefix(words[0], "ssh-") && !strings.HasPrefix(words[0], "ecdsa-") && !strings.HasPrefix(words[0], "sk-") {
		return fmt.Errorf("%.80q is no public key of ssh", line)
	}
	return nil
}

// mark stands at the end of a line of ours in authorized_keys. It names the host by its key.
func mark(id string) string { return "c2c-relay:" + id }

// AuthorizedLine is the line of authorized_keys that lets a host reach the relay here, and nothing else.
func AuthorizedLine(program string, key string, host hosts.Public) (string, error) {
	if err := checkSSHKey(key); err != nil {
		return "", err
	}
	if !filepath.IsAbs(program) || strings.ContainsFunc(program, func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune("\"\\'$`;&|<>()*?!# ", c) }) {
		return "", fmt.Errorf("the path %q cannot stand in authorized_keys: install c2c elsewhere", program)
	}
	words := strings.Fields(key)
	return fmt.Sprintf(`restrict,command="%s relay --stdio" %s %s %s`, program, words[0], words[1], mark(host.ID())), nil
}

// AuthorizedKeys is the file of this user.
func AuthorizedKeys(getenv func(string) string) string {
	return filepath.Join(getenv("HOME"), ".ssh", "authorized_keys")
}

// Authorize puts a line into authorized_keys, in the place of an older one of the same host.
func Authorize(path, line string, host hosts.Public) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return editAuthorized(path, func(lines []string) []string { return append(without(lines, host.ID()), line+"\n") })
}

// Unauthorize takes the line of a host out of authorized_keys. was says that there was one.
func Unauthorize(path, id string) (was bool, err error) {
	err = editAuthorized(path, func(lines []string) []string {
		left := without(lines, id)
		was = len(left) < len(lines)
		return left
	})
	return was, err
}

func without(lines []string, id string) (left []string) {
	for _, l := range lines {
		if !strings.HasSuffix(strings.TrimSpace(l), " "+mark(id)) {
			left = append(left, l)
		}
	}
	return left
}

// editAuthorized writes the file only when its lines change.
func editAuthorized(path string, edit func(lines []string) []string) error {
	data, err := atomicfile.ReadForeign(path, maxAuthKey)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var lines []string
	for l := range strings.Lines(string(data)) {
		lines = append(lines, l)
	}
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines[n-1] += "\n"
	}
	after := strings.Join(edit(lines), "")
	if after == string(data) || after == "" && len(data) == 0 {
		return nil
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return atomicfile.Rewrite(path, []byte(after), mode)
}

// Exchange is what `c2c relay add` sends to c2c on the other host, through ssh.
type Exchange struct {
	Apply    bool          `json:"apply"` // else it only asks
	Name     string        `json:"name"`  // what the sending host is to be called
	Key      *hosts.Public `json:"key,omitempty"`
	SSHKey   string        `json:"ssh_key,omitempty"`
	Projects []string      `json:"projects,omitempty"` // that the sending host may reach
	Aliases  []string      `json:"aliases,omitempty"`
	Print    bool          `json:"print,omitempty"` // leave authorized_keys alone: a person writes the line
}

// Exchanged is its answer.
type Exchanged struct {
	Name    string        `json:"name"` // what the host calls itself
	Key     *hosts.Public `json:"key"`
	Known   string        `json:"known,omitempty"` // what it calls the sending host already
	Line    string        `json:"line"`            // of its authorized_keys
	Version string        `json:"version"`
}

// Answer does on this host what another one asks for through ssh. It trusts that as it trusts its own user: whoever gets here has a
// shell of the user. program is c2cd.
func (r *Relay) Answer(ctx context.Context, e Exchange, program, name string, getenv func(string) string, now clock) (a Exchanged, err error) {
	if e.Key == nil {
		return a, errors.New("the other host has sent no key")
	}
	key, err := hosts.LoadKey(ctx, r.Dir)
	if err != nil {
		return a, err
	}
	public := key.Public()
	a = Exchanged{Name: name, Key: &public}
	if a.Line, err = AuthorizedLine(program, e.SSHKey, *e.Key); err != nil {
		return a, err
	}
	list := r.Hosts(now)
	if h, err := list.ByID(e.Key.ID()); err == nil {
		a.Known = h.Name
	} else if !errors.Is(err, hosts.ErrUnknown) {
		return a, err
	}
	if !e.Apply {
		return a, nil
	}
	h := hosts.Host{Name: e.Name, Carrier: hosts.SSH, Projects: e.Projects, Aliases: e.Aliases, Key: *e.Key}
	if a.Known != "" {
		h.Name = a.Known
	}
	before, err := list.ByID(e.Key.ID())
	if err == nil {
		h.Dest = before.Dest // this host may dial, too
	}
	if _, err := list.Add(ctx, h); err != nil {
		return a, err
	}
	if e.Print {
		return a, nil
	}
	return a, Authorize(AuthorizedKeys(getenv), a.Line, *e.Key)
}
