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

	"c2c/wake"
)

// post is one message that was sent, and the socket to which the client writes what has become of it.
type post struct {
	id, token string
	changed   chan struct{} // has a value when last says something new

	dir      string
	listener net.Listener
	mu       sync.Mutex
	status   string
}

// longestAddress is what the client (0.24.4) takes for the path of a socket.
const longestAddress = 103

// receiptTime bounds a client that connects and writes no receipt.
const receiptTime = 2 * time.Second

func newPost() (*post, error) {
	p := &post{id: rand.Text(), token: rand.Text(), changed: make(chan struct{}, 1)}
	var err error
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		if p.dir, err = os.MkdirTemp(parent, "c2c-"); err != nil { // 0700
			continue
		}
		if len(p.address()) > longestAddress {
			err = fmt.Errorf("the path is too long")
		} else if p.listener, err = net.Listen("unix", p.address()); err == nil {
			go p.serve()
			return p, nil
		}
		os.Remove(p.dir)
	}
	return nil, fmt.Errorf("%w: no socket for its answer below %s: %v", wake.ErrUncaptured, os.TempDir(), err)
}

func (p *post) address() string { return filepath.Join(p.dir, "answer.sock") }

func (p *post) close() {
	p.listener.Close() // and remove the socket
	os.Remove(p.dir)
}

// last is what the client has said last.
func (p *post) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// serve ends with close.
func (p *post) serve() {
	for {
		conn, err := p.listener.Accept()
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

// read takes receipts for the message from whoever has the token.
func (p *post) read(in io.Reader) {
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

func (p *post) set(status string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status == held && p.status == delivered {
		return // it was held before: connections may overtake each other
	}
	p.status = status
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
