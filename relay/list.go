package relay

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

const (
	listFile = "hosts.json"
	lockFile = "hosts.lock"
	maxList  = 2 << 20
)

// lockTime is how long a call waits for the lock. The wait is limited, because a suspended process
// may hold the lock.
const lockTime = 15 * time.Second

func withLock(ctx context.Context, dir *atomicfile.Dir, work func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	return atomicfile.WithLock(ctx, dir, lockFile, work)
}

// HostsDir is the directory of this package's files below the state directory.
const HostsDir = "relay"

// HostList holds the hosts of a user. Any goroutine may use it.
type HostList struct {
	dir  *atomicfile.Dir
	now  func() time.Time
	file *atomicfile.PrivateFile[content]
}

// content is the content of hosts.json.
type content struct {
	Projects []NamedProject `json:"projects,omitempty"`
	Hosts    []Host         `json:"hosts"`
}

// OpenHosts returns the list in a directory. The caller closes dir. The function now is the clock.
func OpenHosts(dir *atomicfile.Dir, now func() time.Time) *HostList {
	return &HostList{dir, now, &atomicfile.PrivateFile[content]{Dir: dir, Name: listFile, Lock: lockFile, Most: maxList,
		Parse: parseList, Format: formatList, Full: ErrFull}}
}

// All returns the hosts in the order of their Add calls.
func (l *HostList) All() ([]Host, error) {
	c, err := l.file.Look()
	return slices.Clone(c.Hosts), err
}

// Projects returns the projects that a person has named.
func (l *HostList) Projects() ([]NamedProject, error) {
	c, err := l.file.Look()
	return slices.Clone(c.Projects), err
}

// ByName returns the host with this name, even if it is revoked. Errors: ErrUnknown.
func (l *HostList) ByName(name string) (Host, error) {
	return l.find(name, func(h Host) bool { return h.Name == name })
}

// ByID returns the host whose key has this ID, even if it is revoked. Errors: ErrUnknown.
func (l *HostList) ByID(id string) (Host, error) {
	return l.find(id, func(h Host) bool { return h.Key.id == id })
}

// BySigningKey is like ByID, but takes the signing half of the key, which is unique too.
func (l *HostList) BySigningKey(key ed25519.PublicKey) (Host, error) {
	return l.find(fmt.Sprintf("%x", key), func(h Host) bool { return h.Key.sign.Equal(key) })
}

func (l *HostList) find(what string, match func(Host) bool) (Host, error) {
	c, err := l.file.Look()
	if err != nil {
		return Host{}, err
	}
	if i := slices.IndexFunc(c.Hosts, match); i >= 0 {
		return c.Hosts[i], nil
	}
	return Host{}, fmt.Errorf("host %.80q: %w", what, ErrUnknown)
}

// Changed returns the path of a file for a file watcher: with each change of the list, the process
// that has changed it closes this file.
func (l *HostList) Changed() string { return l.dir.Path() + "/" + lockFile }

func parseList(data []byte) (content, error) {
	var c content
	if err := json.Unmarshal(data, &c); err != nil {
		return content{}, err
	}
	return c, c.check()
}

// formatList makes a file that a person can read.
func formatList(c content) ([]byte, error) {
	data, err := json.MarshalIndent(c, "", " ")
	return append(data, '\n'), err
}

// check returns an error if a row is invalid, or if two rows have the same name or key.
func (c content) check() error {
	seen := map[string]bool{}
	once := func(kind, name string) error {
		if seen[kind+name] {
			return fmt.Errorf("%s %.80q is in the list twice", kind, name)
		}
		seen[kind+name] = true
		return nil
	}
	for _, h := range c.Hosts {
		if err := errors.Join(h.check(), once("host", h.Name), once("key", string(h.Key.sign))); err != nil {
			return err
		}
	}
	for _, p := range c.Projects {
		if err := errors.Join(p.check(), once("project", p.Name), once("root", p.Root)); err != nil {
			return err
		}
	}
	return nil
}

// Add adds a host. If the list already has a host with this name and key, Add only updates the
// host's carrier and destination. Errors: ErrExists (the key has another name), ErrKeyChanged (the
// name has another key), ErrRevoked, ErrFull.
func (l *HostList) Add(ctx context.Context, h Host) error {
	h.Added, h.Revoked = mail.Seconds(l.now()), 0
	if err := h.check(); err != nil {
		return err
	}
	return l.change(ctx, func(c *content) error {
		for i, there := range c.Hosts {
			switch sameKey := there.Key.id == h.Key.id; {
			case !sameKey && there.Key.sign.Equal(h.Key.sign): // only the signing half is equal, so it is another key
				return fmt.Errorf("add host %q: %w (%q has the same signing half)", h.Name, ErrKeyChanged, there.Name)
			case there.Name != h.Name && !sameKey:
				continue
			case !sameKey:
				return fmt.Errorf("add host %q: %w (it had %s, now %s)", h.Name, ErrKeyChanged, there.Key.Fingerprint(), h.Key.Fingerprint())
			case there.Name != h.Name:
				return fmt.Errorf("add host %q: %w: its key is that of %q", h.Name, ErrExists, there.Name)
			case there.Revoked != 0:
				return fmt.Errorf("add host %q: %w", h.Name, ErrRevoked)
			}
			c.Hosts[i].Carrier, c.Hosts[i].Dest = h.Carrier, h.Dest
			return nil
		}
		c.Hosts = append(c.Hosts, h)
		return nil
	})
}

// Allow sets the projects and aliases that a host may reach. If a list is nil, Allow does not
// change it. Errors: ErrUnknown, ErrRevoked.
func (l *HostList) Allow(ctx context.Context, name string, projects, aliases []string) (after Host, err error) {
	err = l.changeHost(ctx, name, func(h *Host) error {
		if h.Revoked != 0 {
			return fmt.Errorf("allow %q: %w", name, ErrRevoked)
		}
		if projects != nil {
			h.Projects = projects
		}
		if aliases != nil {
			h.Aliases = aliases
		}
		after = *h
		return h.check()
	})
	return after, err
}

// Revoke makes the relay refuse all mail from a host, and send no mail to it. The host stays in the
// list, so that its key stays revoked. Errors: ErrUnknown.
func (l *HostList) Revoke(ctx context.Context, name string) error {
	return l.changeHost(ctx, name, func(h *Host) error {
		if h.Revoked == 0 {
			h.Revoked = mail.Seconds(l.now())
		}
		return nil
	})
}

// Remove removes a host from the list. Errors: ErrUnknown.
func (l *HostList) Remove(ctx context.Context, name string) error {
	return l.change(ctx, func(c *content) error {
		n := len(c.Hosts)
		if c.Hosts = slices.DeleteFunc(c.Hosts, func(h Host) bool { return h.Name == name }); len(c.Hosts) == n {
			return fmt.Errorf("host %.80q: %w", name, ErrUnknown)
		}
		return nil
	})
}

// NameProject gives a name to a project without a git remote. Other hosts know the project by this
// name. An older name of this root is removed, and so is another root with this name.
func (l *HostList) NameProject(ctx context.Context, p NamedProject) error {
	if err := p.check(); err != nil {
		return err
	}
	return l.change(ctx, func(c *content) error {
		c.Projects = slices.DeleteFunc(c.Projects, func(there NamedProject) bool { return there.Name == p.Name || there.Root == p.Root })
		c.Projects = append(c.Projects, p)
		return nil
	})
}

func (l *HostList) changeHost(ctx context.Context, name string, edit func(*Host) error) error {
	return l.change(ctx, func(c *content) error {
		i := slices.IndexFunc(c.Hosts, func(h Host) bool { return h.Name == name })
		if i < 0 {
			return fmt.Errorf("host %.80q: %w", name, ErrUnknown)
		}
		return edit(&c.Hosts[i])
	})
}

// change edits the list under its lock. When it returns, the new list is on disk.
func (l *HostList) change(ctx context.Context, edit func(*content) error) error {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	return l.file.Change(ctx, func(c *content) error {
		if err := edit(c); err != nil {
			return err
		}
		return c.check()
	})
}
