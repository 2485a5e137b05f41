// This part keeps the list of the machines with which this machine exchanges mail: their keys, the
// sessions that each may reach, and the invitations by which two machines pair.
//
// A key identifies a host. Its name, which follows the @ of an address, is local: another machine
// may have another name for it. A host that is not in the list has no rights. A host reaches no
// session if its list of allowed aliases or its list of allowed projects is empty.
//
// All data is in files of <state directory>/relay. Any number of processes may use them at once.
// Each call reads the list again if the file has changed. So the relay refuses a revoked host from
// the next packet on.
//
//	key               the secret key of this host; written once, never changed
//	hosts.json        the hosts, at most 2 MiB: a post-quantum key takes 2 KB, and a hub may have 500 hosts
//	invitations.json  unanswered invitations of the last hour
//	hosts.lock        held while a process changes one of these files; the process takes no other lock meanwhile

package relay

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"c2c/inbox/mail"
)

// The kinds of carriers.
const (
	SSH  = "ssh"
	NATS = "nats"
)

// Kinds returns all kinds of carriers.
func Kinds() []string { return []string{SSH, NATS} }

// AnyName means all aliases, or all projects, in a list.
const AnyName = "*"

// Host is a machine with which this machine exchanges mail.
type Host struct {
	Name     string   `json:"name"`
	Carrier  string   `json:"carrier"`            // one of Kinds
	Dest     string   `json:"ssh,omitempty"`      // the host's ssh destination; "" for a host that connects to this machine, such as a laptop
	Projects []string `json:"projects,omitempty"` // names of the projects in which the host may reach sessions, or Any
	Aliases  []string `json:"aliases,omitempty"`  // aliases that the host may reach, or Any
	Added    float64  `json:"added"`
	Revoked  float64  `json:"revoked,omitempty"` // when the host was revoked: from then on the relay refuses its mail; 0: not revoked
	Key      Public   `json:"key"`
}

// NamedProject is a project whose repository has no git remote. A person has given it a name. All
// hosts that have the project use the same name.
type NamedProject struct {
	Name string `json:"name"`
	Root string `json:"root"` // absolute
}

// The errors of this package. The doc of each method names the errors that it returns.
var (
	ErrUnknown    = errors.New("no such host")
	ErrExists     = errors.New("there is a host with this key already")
	ErrKeyChanged = errors.New("the host has another key than before: it was set up again, or another machine uses its name")
	ErrRevoked    = errors.New("the host is revoked")
	ErrFull       = errors.New("the list of hosts is full")
	ErrInvitation = errors.New("no such invitation; it may have expired, or a wrong answer has ended it")
)

// MayReach reports whether the host may write to an alias of a project; if alias is empty, whether
// it may write to at least one alias.
func (h Host) MayReach(project, alias string) bool {
	return h.MayReachProject(project) &&
		(alias == "" || slices.Contains(h.Aliases, AnyName) || slices.ContainsFunc(h.Aliases, func(a string) bool { return strings.EqualFold(a, alias) }))
}

// MayReachProject reports whether the host may write to at least one alias of a project.
func (h Host) MayReachProject(project string) bool {
	return h.Revoked == 0 && len(h.Aliases) > 0 && (slices.Contains(h.Projects, AnyName) || slices.Contains(h.Projects, project))
}

// maxName is the limit of a DNS label.
const maxName = 63

// HostNameOf makes a name for a host from a machine's own name: it is the part before the first
// dot, in lower case. The result is "" if no valid name is left.
func HostNameOf(machine string) string {
	label, _, _ := strings.Cut(strings.ToLower(machine), ".")
	name := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return '-'
	}, label)
	return strings.Trim(name[:min(len(name), maxName)], "-")
}

// CheckDest returns an error if dest is not an ssh destination. So nobody can pass an option to
// ssh.
func CheckDest(dest string) error {
	if dest == "" || len(dest) > 255 || dest[0] == '-' || strings.ContainsFunc(dest, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune("'\"`$\\;&|<>(){}*?!#", c)
	}) {
		return fmt.Errorf("%.80q is not an ssh destination: give user@host, or a name from ~/.ssh/config", dest)
	}
	return nil
}

// check returns an error if h cannot be a row of the list.
func (h Host) check() error {
	if err := mail.CheckHost(h.Name); err != nil {
		return err
	}
	switch {
	case h.Key.id == "":
		return fmt.Errorf("host %q has no key", h.Name)
	case !slices.Contains(Kinds(), h.Carrier):
		return fmt.Errorf("host %q: carrier %.20q is none of %q", h.Name, h.Carrier, Kinds())
	case h.Dest != "" && h.Carrier != SSH:
		return fmt.Errorf("host %q: ssh %.80q needs the carrier %q", h.Name, h.Dest, SSH)
	case h.Dest != "" && CheckDest(h.Dest) != nil:
		return fmt.Errorf("host %q: %w", h.Name, CheckDest(h.Dest))
	}
	for _, a := range h.Aliases {
		if err := mail.CheckAlias(strings.TrimPrefix(a, "#")); a != AnyName && err != nil { // #review is a room
			return fmt.Errorf("host %q: %w", h.Name, err)
		}
	}
	for _, p := range h.Projects {
		if err := CheckProjectName(p); p != AnyName && err != nil {
			return fmt.Errorf("host %q: %w", h.Name, err)
		}
	}
	return nil
}

// CheckProjectName returns an error if s cannot be the name of a project.
func CheckProjectName(s string) error {
	if len(s) > maxProject || !mail.ValidName(s) {
		return fmt.Errorf("project %.80q: use 1 to %d of A-Z a-z 0-9 . _ -, first a letter or a digit", s, maxProject)
	}
	return nil
}

func (p NamedProject) check() error {
	if err := CheckProjectName(p.Name); err != nil {
		return err
	}
	if !filepath.IsAbs(p.Root) || len(p.Root) > 4096 {
		return fmt.Errorf("project %q: root %.100q is not an absolute path", p.Name, p.Root)
	}
	return nil
}
