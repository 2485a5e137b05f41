package qwen

import (
	"bufio"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"c2c/internal/daemon"
	"c2c/wake"
	"c2c/wake/socket"
)

// outgoing is one message that c2c has sent, and the socket to which the client writes the receipts
// for this message.
type outgoing struct {
	id, token string
	changed   chan struct{} // gets a value when the method last has a new status

	listener net.Listener
	mu       sync.Mutex
	status   string
}

// longestAddress is the longest path of a socket that the client (0.24.4) accepts.
const longestAddress = 103

// receiptTime is the longest time for which a connection from the client stays open.
const receiptTime = 2 * time.Second

func newOutgoing() (*outgoing, error) {
	p := &outgoing{id: rand.Text(), token: rand.Text(), changed: make(chan struct{}, 1)}
	var err error
	if p.listener, err = listen("answer.sock"); err != nil {
		return nil, fmt.Errorf("%w: no socket for its answer below %s: %v", wake.ErrUncaptured, os.TempDir(), err)
	}
	go p.serve()
	return p, nil
}

// listen makes a socket in a new directory that no other user may enter. closeSocket removes the
// socket and the directory.
func listen(name string) (l net.Listener, err error) {
	// The path of a socket must be short. So /tmp comes second, in case the path of os.TempDir is
	// too long.
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		dir, failed := os.MkdirTemp(parent, ownDir) // 0700
		if err = failed; err != nil {
			continue
		}
		path := filepath.Join(dir, name)
		if len(path) > longestAddress {
			err = fmt.Errorf("the path is too long")
		} else if l, err = net.Listen("unix", path); err == nil {
			return l, nil
		}
		os.Remove(dir)
	}
	return nil, err
}

// ownDir is the beginning of the name of each directory that listen makes.
const ownDir = "c2c-"

func closeSocket(l net.Listener) {
	l.Close() // this also removes the socket
	os.Remove(filepath.Dir(l.Addr().String()))
}

func (p *outgoing) address() string { return p.listener.Addr().String() }

func (p *outgoing) close() { closeSocket(p.listener) }

// last returns the last status that the client has reported; "" before the first report.
func (p *outgoing) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// serve reads receipts until close closes the listener.
func (p *outgoing) serve() {
	for {
		conn, err := socket.AcceptOurs(p.listener)
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(receiptTime))
			p.read(io.LimitReader(conn, 1<<20))
		}()
	}
}

// read accepts receipts for the message from any process that has the token.
func (p *outgoing) read(in io.Reader) {
	lines, known := bufio.NewScanner(in), false
	for lines.Scan() {
		var line struct{ Type, Token, Action, Status, OrigMsgID string }
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			return
		}
		known = known || line.Type == "auth" && subtle.ConstantTimeCompare([]byte(line.Token), []byte(p.token)) == 1
		if known && line.Type == "control" && line.Action == "delivery_status" && line.OrigMsgID == p.id {
			p.set(line.Status)
		}
	}
}

func (p *outgoing) set(status string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status == held && p.status == delivered {
		return // the client reported held before delivered, but on another connection, which was slower
	}
	p.status = status
	daemon.Poke(p.changed)
}
