package qwen

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/proc"
	"c2c/wake"
	"c2c/wake/socket"
)

// peers shows aliases of c2c among the client's sessions. Each alias has a record beside the
// client's own records, and a socket to which the client's tool send_message writes. The client's
// documents define the protocol (cross-session-protocol, sections 1 to 4). No daemon is needed,
// because our MCP server in each window of the client shows all aliases. The records of an alias
// have the same session id in all windows, and of several records with one id the client takes the
// newest.
type peers struct {
	records string // the directory of the client's records
	self    peerRecord
	take    func(*peer, *net.UnixConn) // reads a message to the peer from the connection
	slots   chan struct{}              // has one value for each open connection
	serving sync.WaitGroup
	shown   map[string]*peer // by name
}

// peer is one alias that the client shows.
type peer struct {
	name, id, file string // the alias, the session id in its record, and the name of the record
	token          string
	listener       net.Listener
}

// peerRecord is the part of a record sessions/<pid>.json that the client (0.24.4) reads. Only the
// records of c2c itself have the field Machine.
type peerRecord struct {
	SchemaVersion int    `json:"schemaVersion"`
	PID           int    `json:"pid"`
	ProcStart     string `json:"procStart"`
	PIDNS         uint64 `json:"pidNs"`
	SessionID     string `json:"sessionId"`
	Cwd           string `json:"cwd"`
	Name          string `json:"name"`
	StartedAt     int64  `json:"startedAt"`
	Kind          string `json:"kind"`
	IPCPath       string `json:"ipcPath"`
	IPCToken      string `json:"ipcToken"`
	Machine       string `json:"c2cMachine,omitempty"`
}

// maxRecord is how many bytes of a record the client reads at most.
const maxRecord = 64 << 10

// servedAtOnce is the largest number of connections that peers reads at once. Other connections
// wait.
const servedAtOnce = 16

// newPeers returns nil if the client takes no messages of other sessions: with the option -p, or if
// its person has turned such messages off.
func newPeers(getenv func(string) string, store func(context.Context, wake.Sent) error) wake.Peers {
	if getenv("QWEN_CODE_MESSAGING_SOCKET") == "" {
		return nil
	}
	profile, _ := client.Find(name)
	config, _ := profile.Config(getenv)
	p := &peers{records: filepath.Join(config, "sessions"), slots: make(chan struct{}, servedAtOnce), shown: map[string]*peer{}}
	p.take = func(to *peer, conn *net.UnixConn) { (&incoming{p.records, to, store}).serve(conn) }
	return p
}

// Show implements wake.Peers. It leaves out a name that one of the client's own sessions has.
func (p *peers) Show(place string, names []string) error {
	if len(names) == 0 && len(p.shown) == 0 {
		return nil
	}
	if err := p.identify(); err != nil {
		return fmt.Errorf("show names to the client: %w", err)
	}
	dir, err := atomicfile.Open(p.records)
	if err != nil {
		return err
	}
	defer dir.Close()
	files, theirs, err := p.look(dir)
	if err != nil {
		return err
	}
	for name, shown := range p.shown {
		if !slices.Contains(names, name) || theirs[name] || !files[shown.file] {
			p.hide(dir, shown)
		}
	}
	for _, name := range names {
		if p.shown[name] == nil && !theirs[name] {
			if err := p.show(dir, place, name); err != nil {
				return fmt.Errorf("show %q to the client: %w", name, err)
			}
		}
	}
	return nil
}

// identify finds the facts about this process that go into its records.
func (p *peers) identify() error {
	if p.self.PID != 0 {
		return nil
	}
	sweepSockets()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	stat, err := proc.Read(os.Getpid())
	if err != nil {
		return err
	}
	info, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return err
	}
	machine, _ := os.ReadFile("/etc/machine-id")
	cwd, _ := os.Getwd()
	p.self = peerRecord{SchemaVersion: 1, PID: os.Getpid(), PIDNS: info.Sys().(*syscall.Stat_t).Ino, Cwd: cwd, Kind: "external",
		ProcStart: procStart(string(boot), stat), Machine: "id " + strings.TrimSpace(string(machine))}
	return nil
}

func procStart(boot string, s proc.Stat) string {
	return fmt.Sprintf("%s:%d", strings.TrimSpace(boot), s.Start)
}

// look lists the records in the client's directory, and the names of the client's own sessions. If
// a server of ours was killed, look removes the records and sockets of this server.
func (p *peers) look(dir *atomicfile.Dir) (files, theirs map[string]bool, err error) {
	names, err := dir.Names()
	files, theirs = map[string]bool{}, map[string]bool{}
	for _, file := range names {
		r, ok := readPeer(filepath.Join(p.records, file))
		if !ok {
			continue
		}
		lives, known := p.lives(r)
		switch {
		case r.Machine == "":
			theirs[r.Name] = theirs[r.Name] || lives
		case !lives && known:
			dir.Remove(file)
			removeSocket(r.IPCPath)
			continue
		}
		files[file] = true
	}
	return files, theirs, err
}

// lives reports whether the process that wrote a record still runs. The result known is false if
// c2c cannot find out: the record comes from another machine, or was written in another PID
// namespace since the last boot.
func (p *peers) lives(r peerRecord) (lives, known bool) {
	boot, _, _ := strings.Cut(p.self.ProcStart, ":")
	if theirs, _, _ := strings.Cut(r.ProcStart, ":"); boot != theirs {
		return false, r.Machine == p.self.Machine
	}
	if r.PIDNS != p.self.PIDNS {
		return false, false
	}
	stat, err := proc.Read(r.PID)
	return err == nil && procStart(boot, stat) == r.ProcStart, err == nil || errors.Is(err, proc.ErrNone)
}

func readPeer(path string) (r peerRecord, ok bool) {
	if !strings.HasSuffix(path, ".json") {
		return r, false
	}
	data, err := atomicfile.ReadForeign(path, maxRecord)
	ok = err == nil && json.Unmarshal(data, &r) == nil
	return r, ok
}

// show makes a socket and a record for a name. The id in the record depends only on the name and
// the place, so all our servers use the same id.
func (p *peers) show(dir *atomicfile.Dir, place, name string) error {
	sum := sha256.Sum256([]byte(place + "\x00" + name))
	id := mail.HexUUID([16]byte(sum[:16]))
	token := make([]byte, 32)
	rand.Read(token) // it never fails
	n := &peer{name: name, id: id, token: hex.EncodeToString(token),
		file: fmt.Sprintf("%d-%s.json", p.self.PID, id[:8])}
	var err error
	if n.listener, err = listen(peerSocket); err != nil {
		return err
	}
	r := p.self
	r.SessionID, r.Name, r.StartedAt, r.IPCPath, r.IPCToken = n.id, name, time.Now().UnixMilli(), n.listener.Addr().String(), n.token
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = dir.Write(n.file, append(data, '\n'))
	}
	if err != nil {
		closeSocket(n.listener)
		return err
	}
	p.shown[name] = n
	p.serving.Go(func() { p.serve(n) })
	return nil
}

func (p *peers) hide(dir *atomicfile.Dir, n *peer) error {
	closeSocket(n.listener)
	delete(p.shown, n.name)
	if dir == nil {
		return nil // the directory could not be opened, so the record is gone
	}
	if err := dir.Remove(n.file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close implements wake.Peers. It waits for messages that are being stored.
func (p *peers) Close() error {
	if len(p.shown) == 0 {
		return nil
	}
	dir, err := atomicfile.Open(p.records)
	if err == nil {
		defer dir.Close()
	}
	for _, n := range p.shown {
		err = errors.Join(err, p.hide(dir, n))
	}
	p.serving.Wait()
	return err
}

// serve accepts connections until the listener is closed.
func (p *peers) serve(n *peer) {
	for {
		conn, err := socket.AcceptOurs(n.listener)
		if err != nil {
			return
		}
		p.slots <- struct{}{}
		p.serving.Go(func() {
			defer func() { <-p.slots }()
			p.take(n, conn.(*net.UnixConn))
		})
	}
}

// removeSocket removes the socket of a killed server, and its directory.
func removeSocket(path string) {
	info, err := os.Lstat(path)
	if dir := filepath.Dir(path); err == nil && info.Mode().Type() == fs.ModeSocket && strings.HasPrefix(filepath.Base(dir), ownDir) {
		os.Remove(path)
		os.Remove(dir)
	}
}

// sweepSockets removes sockets on which no process listens. The method look does not find such a
// socket if the client has removed its record.
func sweepSockets() {
	var found []string
	for _, parent := range parents() {
		names, _ := fs.Glob(os.DirFS(parent), ownDir+"*/"+peerSocket) // filepath.Glob would read a [ in the parent's path as a pattern
		for _, name := range names {
			found = append(found, filepath.Join(parent, name))
		}
	}
	for _, path := range found {
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
		} else if info, gone := os.Lstat(path); errors.Is(err, syscall.ECONNREFUSED) && gone == nil && time.Since(info.ModTime()) > time.Minute {
			removeSocket(path) // but keep a newer socket, which may be about to get its listener
		}
	}
}

const peerSocket = "peer.sock"
