package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
	"c2c/relay"
)

const (
	sshKeyFile = "ssh_key"
	sshKeyLock = "ssh_key.lock"
	maxAuthKey = 4 << 20 // limit for authorized_keys, in bytes

	keyTime = 30 * time.Second // how long ssh-keygen may take
)

// SSHKey returns the relay's public ssh key, as a line. It makes the key at the first call. The
// relay has a key of its own, because it also runs when no ssh agent has a person's key. At the
// other end, this key gives access only to the relay.
func (r *Relay) SSHKey(ctx context.Context) (line string, err error) {
	ctx, cancel := context.WithTimeout(ctx, keyTime)
	defer cancel()
	err = atomicfile.WithLock(ctx, r.Dir, sshKeyLock, func() error {
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

// checkSSHKey returns an error unless line is one public ssh key. Another host may have sent the
// line.
func checkSSHKey(line string) error {
	words := strings.Fields(line)
	bad := strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' })
	if bad || len(words) < 2 || len(line) > 2000 || !strings.HasPrefix(words[0], "ssh-") && !strings.HasPrefix(words[0], "ecdsa-") && !strings.HasPrefix(words[0], "sk-") {
		return fmt.Errorf("%.80q is not a public ssh key", line)
	}
	return nil
}

// mark returns the end of c2c's line for a host in authorized_keys. The argument id is the id of
// the host's key.
func mark(id string) string { return "c2c-relay:" + id }

// AuthorizedLine returns a line for authorized_keys. It gives a host access to the relay here, and
// to nothing else.
func AuthorizedLine(program string, key string, host relay.Public) (string, error) {
	if err := checkSSHKey(key); err != nil {
		return "", err
	}
	if !filepath.IsAbs(program) || strings.ContainsFunc(program, func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune("\"\\'$`;&|<>()*?!# ", c) }) {
		return "", fmt.Errorf("authorized_keys cannot contain the path %q: install c2c at a path without spaces and special characters", program)
	}
	words := strings.Fields(key)
	return fmt.Sprintf(`restrict,command="%s relay --stdio" %s %s %s`, program, words[0], words[1], mark(host.ID())), nil
}

// AuthorizedKeys returns the path of this user's authorized_keys.
func AuthorizedKeys(getenv func(string) string) string {
	return filepath.Join(getenv("HOME"), ".ssh", "authorized_keys")
}

// Authorize writes a line into authorized_keys, unless it is there. It replaces an older line of
// the same host.
func Authorize(path, line string, host relay.Public) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = editAuthorized(path, func(lines []string) []string {
			if slices.Contains(lines, line+"\n") { // a person may have put it there
				return lines
			}
			return append(without(lines, host.ID()), line+"\n")
		})
	}
	return cli.WithHint(err, "let this user write "+path+"; or put the line that c2c relay add --dry-run shows into it yourself; then pair again")
}

// Unauthorize removes the line of a host from authorized_keys. removed is true if there was such a
// line.
func Unauthorize(path, id string) (removed bool, err error) {
	err = editAuthorized(path, func(lines []string) []string {
		left := without(lines, id)
		removed = len(left) < len(lines)
		return left
	})
	return removed, err
}

func without(lines []string, id string) (left []string) {
	for _, l := range lines {
		if !strings.HasSuffix(strings.TrimSpace(l), " "+mark(id)) {
			left = append(left, l)
		}
	}
	return left
}

// editAuthorized edits the lines of authorized_keys. It writes the file only if they have changed.
func editAuthorized(path string, edit func(lines []string) []string) error {
	data, err := readAuthorized(path)
	if err != nil {
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
	if after == string(data) {
		return nil
	}
	check := func() error {
		if now, err := readAuthorized(path); err != nil || bytes.Equal(now, data) {
			return err
		}
		return fmt.Errorf("edit %s: another program has changed it meanwhile; run this again", path)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return atomicfile.Rewrite(path, []byte(after), mode, check)
}

// readAuthorized returns the content of authorized_keys, which may be missing.
func readAuthorized(path string) ([]byte, error) {
	data, err := atomicfile.ReadForeign(path, maxAuthKey)
	return data, atomicfile.UnlessAbsent(err)
}

// anyName allows all projects, or all aliases: the machines that c2c relay add pairs have one
// owner.
var anyName = []string{relay.AnyName}

// Exchange is the request that `c2c relay add` sends to c2c on the other host, through ssh.
type Exchange struct {
	Apply  bool          `json:"apply"` // change the other host; otherwise only query it
	Name   string        `json:"name"`  // the name for the sending host
	Key    *relay.Public `json:"key,omitempty"`
	SSHKey string        `json:"ssh_key,omitempty"`
}

// Exchanged is the answer to an Exchange.
type Exchanged struct {
	Name  string        `json:"name"` // the host's own name
	Key   *relay.Public `json:"key"`
	Known string        `json:"known,omitempty"` // the present name of the sending host on the answering host
	Line  string        `json:"line"`            // the line for authorized_keys of the answering host
}

// Answer carries out an Exchange that another host has sent through ssh. It trusts the Exchange as
// if this user had typed it, because only a caller with this user's shell gets here. The argument
// program is the path of c2cd.
func (r *Relay) Answer(ctx context.Context, e Exchange, program, name string, getenv func(string) string, now clock) (a Exchanged, err error) {
	if e.Key == nil {
		return a, errors.New("the other host has sent no key")
	}
	key, err := relay.LoadKey(ctx, r.Dir)
	if err != nil {
		return a, err
	}
	public := key.Public()
	a = Exchanged{Name: name, Key: &public}
	if a.Line, err = AuthorizedLine(program, e.SSHKey, *e.Key); err != nil {
		return a, err
	}
	list := r.Hosts(now)
	before, err := list.ByID(e.Key.ID())
	if err == nil {
		a.Known = before.Name
	} else if !errors.Is(err, relay.ErrUnknown) {
		return a, err
	}
	if !e.Apply {
		return a, nil
	}
	h := relay.Host{Name: e.Name, Carrier: relay.SSH, Projects: anyName, Aliases: anyName, Key: *e.Key}
	if a.Known != "" {
		h.Name, h.Dest = a.Known, before.Dest // keep the destination, because this host may connect, too
	}
	if err := list.Add(ctx, h); err != nil {
		return a, err
	}
	return a, Authorize(AuthorizedKeys(getenv), a.Line, *e.Key)
}
