// Package cache keeps the last reports of other machines in small files of a root, for c2c list and
// c2c status. Package relay writes the files. The program c2c links this package, so the package
// must import nothing large. For each peer (paired host), the directory relay below the root has:
//
//	<peer>.seen.json   a HeardHost
//	<peer>.states.log  a line for each State; rotated to <peer>.states.old
//
// Another machine has sent the content of these files. Therefore this package limits its size, and
// removes control characters.
package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Limits of the data that is kept for a peer.
const (
	MaxSessions = 500
	maxFile     = 256 << 10
	maxStates   = 3 * maxFile // a file has at most maxFile, or the states of one packet
	maxWord     = 64
	maxTrouble  = 300
)

// HeardHost is the last report of a paired host.
type HeardHost struct {
	Name      string         `json:"-"`
	Relayed   bool           `json:"-"`                    // a relay of this root is running for this host
	Linked    bool           `json:"linked"`               // the carrier has a link to the host; if Hub is set: the hub takes packets for the host
	Hub       bool           `json:"hub,omitempty"`        // packets to the host go through a hub
	Dials     bool           `json:"dials,omitempty"`      // this machine opens the link, so ssh notices within a minute that the host sleeps
	Absent    bool           `json:"absent,omitempty"`     // the host does not have this project
	Seen      float64        `json:"seen"`                 // when the host was last heard, in Unix seconds of this machine's clock; may be a minute too early
	Run       uint64         `json:"run"`                  // the run number of the host's relay in its last hello, see package relay
	Serial    uint64         `json:"serial"`               // the number of that hello; an older hello is ignored
	Trouble   string         `json:"trouble,omitempty"`    // the last trouble that people should know about
	TroubleAt float64        `json:"trouble_at,omitempty"` // the time of Trouble
	Sessions  []HeardSession `json:"sessions,omitempty"`
}

// HeardSession is one session of a paired host.
type HeardSession struct {
	Alias  string `json:"alias"`
	Client string `json:"client,omitempty"`
	State  string `json:"state,omitempty"`
}

const directory = "relay"

// HeardFrom reads the last report of a peer. The report is empty if the peer never sent one. Linked
// is set only while a relay of this root runs.
func HeardFrom(root *atomicfile.Dir, peer string) (HeardHost, error) {
	dir, err := root.Sub(directory, false)
	if err != nil {
		return HeardHost{Name: peer}, atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	h, err := get(dir, peer)
	h.Relayed, _ = dir.IsHeld(peer + ".lock")
	h.Linked = h.Linked && h.Relayed
	return h, err
}

// maxHosts is the greatest size of the list of paired hosts, see package relay.
const maxHosts = 2 << 20

// PairedNames returns the names of the paired hosts, and the roots of the projects that a person
// has named. It reads the list that package relay keeps below the state directory. It does not
// check the hosts' keys: a name alone gives no rights.
func PairedNames(state string) (names, roots []string, err error) {
	dir, err := atomicfile.Open(filepath.Join(state, directory))
	if err != nil {
		return nil, nil, atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	data, err := dir.ReadMost("hosts.json", maxHosts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var list struct {
		Hosts []struct {
			Name    string  `json:"name"`
			Revoked float64 `json:"revoked"`
		} `json:"hosts"`
		Projects []struct {
			Root string `json:"root"`
		} `json:"projects"`
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the list of hosts: %w", err)
	}
	for _, h := range list.Hosts {
		if h.Revoked == 0 && mail.CheckHost(h.Name) == nil {
			names = append(names, h.Name)
		}
	}
	for _, p := range list.Projects {
		roots = append(roots, p.Root)
	}
	return names, roots, nil
}

// IsRelayed reports whether a relay carries mail between this root and at least one peer.
func IsRelayed(root *atomicfile.Dir) (bool, error) {
	dir, err := root.Sub(directory, false)
	if err != nil {
		return false, atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	names, err := dir.Names()
	return slices.ContainsFunc(names, func(name string) bool {
		peer, isLock := strings.CutSuffix(name, ".lock")
		if !isLock || mail.CheckHost(peer) != nil {
			return false
		}
		held, _ := dir.IsHeld(name)
		return held
	}), err
}

func get(dir *atomicfile.Dir, peer string) (HeardHost, error) {
	h := HeardHost{Name: peer}
	data, err := dir.ReadMost(peer+".seen.json", maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil && !errors.Is(err, atomicfile.ErrTooLarge) {
		return h, err
	}
	if json.Unmarshal(data, &h) != nil { // the report is damaged: the next hello replaces it
		return HeardHost{Name: peer}, nil
	}
	h.tidy()
	return h, nil
}

// tidy shortens data that another machine has sent, and makes it safe to show.
func (h *HeardHost) tidy() {
	h.Trouble = word(h.Trouble, maxTrouble)
	h.Sessions = slices.DeleteFunc(h.Sessions[:min(len(h.Sessions), MaxSessions)], func(s HeardSession) bool { return mail.CheckAlias(s.Alias) != nil })
	for i := range h.Sessions {
		s := &h.Sessions[i]
		s.Client, s.State = word(s.Client, maxWord), word(s.State, maxWord)
	}
}

// word makes a text safe to show: visible, on one line, and cut to limit bytes.
func word(s string, limit int) string {
	return mail.Visible(strings.ToValidUTF8(s[:min(len(s), limit)], ""), "")
}

// ChangeHeard changes the report of a peer. Only the process that relays for this root and peer may
// call it, in one goroutine at a time.
func ChangeHeard(root *atomicfile.Dir, peer string, change func(h *HeardHost)) error {
	dir, err := root.Sub(directory, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	h, err := get(dir, peer)
	if err != nil {
		return err
	}
	change(&h)
	h.tidy()
	data, err := json.Marshal(h)
	if err == nil {
		err = dir.Replace(peer+".seen.json", append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("store the report of host %q: %w", peer, err)
	}
	return nil
}

// HeardState says that a message that the peer had stored was handed over or read there.
type HeardState struct {
	ID      string  `json:"id"`
	Session string  `json:"session,omitempty"` // the session of the message's sender
	What    string  `json:"what"`              // handed or read
	By      string  `json:"by,omitempty"`      // the reader
	At      float64 `json:"at"`                // the time of the change, in Unix seconds of this machine's clock; in a packet: how many seconds ago
}

// Valid reports whether all values of a state are well-formed.
func (s HeardState) Valid() bool {
	return mail.ValidName(s.ID) && (s.Session == "" || mail.ValidName(s.Session)) && (s.What == "handed" || s.What == "read") && (s.By == "" || mail.ValidName(s.By))
}

// AddStates appends states to the log. The last ones may be lost in a power cut.
func AddStates(root *atomicfile.Dir, peer string, states []HeardState) error {
	dir, err := root.Sub(directory, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	name, lines := peer+".states.log", []byte(nil)
	for _, s := range states {
		if !s.Valid() {
			continue
		}
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	if len(lines) == 0 {
		return nil
	}
	// Rotate the log now if these lines would make it larger than maxFile.
	if err := atomicfile.Rotate(dir, name, peer+".states.old", int64(maxFile-len(lines))); err != nil {
		return err
	}
	return dir.Log(name, lines)
}

// HeardReports has the states that a peer has reported.
type HeardReports [][]byte // the content of the two files, the older file first

// ReadHeardReports reads the states that a peer has reported. The oldest may be missing, because
// the log is rotated.
func ReadHeardReports(root *atomicfile.Dir, peer string) (all HeardReports, err error) {
	dir, err := root.Sub(directory, false)
	if err != nil {
		return nil, atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	for _, name := range []string{peer + ".states.old", peer + ".states.log"} {
		data, err := dir.ReadMost(name, maxStates)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return all, err
		}
		all = append(all, data)
	}
	return all, nil
}

// Of returns the states of a message, oldest first.
func (r HeardReports) Of(id string) (found []HeardState) {
	for _, data := range r {
		for line := range bytes.Lines(data) {
			var s HeardState
			if bytes.Contains(line, []byte(id)) && json.Unmarshal(line, &s) == nil && s.ID == id && s.Valid() {
				found = append(found, s)
			}
		}
	}
	return found
}
