package ssh

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"c2c/relay"
)

// link is one connection to a host that has proved its key.
type link struct {
	peer   string
	dialed bool
	conn   io.Closer
	out    chan []byte
	over   chan struct{} // closed when the link is over
	once   sync.Once
}

func (l *link) end() { l.once.Do(func() { close(l.over); l.conn.Close() }) }

// serve runs a link until one of its ends closes it. The argument want is the host that must be at
// the other end; "" means any paired host. The result stood reports whether both ends have proved
// their keys.
func (c *Carrier) serve(ctx context.Context, conn io.ReadWriteCloser, want string, dialed bool) (stood bool, err error) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	late := time.AfterFunc(greetTime, func() { conn.Close() })
	r := bufio.NewReaderSize(conn, 64<<10)
	peer, err := c.greet(r, conn, want)
	if !late.Stop() && err != nil {
		err = fmt.Errorf("the other end has not proved its key within %s", greetTime)
	}
	if err != nil {
		return false, err
	}
	l := &link{peer: peer, dialed: dialed, conn: conn, out: make(chan []byte, queue), over: make(chan struct{})}
	if !c.begin(l) {
		return false, context.Cause(ctx)
	}
	defer c.ended(l)
	var writer sync.WaitGroup
	defer writer.Wait()
	defer l.end()
	writer.Go(func() { defer l.end(); l.write(conn) })
	return true, c.read(ctx, r)
}

// begin makes the link l carry the packets to its host. If there is an older link that the same
// side has dialed, begin ends it: it must be dead, because that side has made a new link. If both
// hosts dial, both links stay: otherwise each host would end the other's link again and again.
func (c *Carrier) begin(l *link) bool {
	c.reports.Lock()
	defer c.reports.Unlock()
	c.mu.Lock()
	if c.ctx == nil {
		c.mu.Unlock()
		return false
	}
	h, w := c.handler, c.way(l.peer)
	w.links = slices.DeleteFunc(w.links, func(old *link) bool {
		if old.dialed == l.dialed {
			old.end()
		}
		return old.dialed == l.dialed
	})
	w.links = append(w.links, l)
	w.status.Up, w.status.Since, w.status.Error = true, c.cfg.Now(), ""
	c.mu.Unlock()
	c.cfg.Log.Info("link through ssh", "host", l.peer, "dialed", l.dialed)
	h.Link(l.peer, true)
	c.cfg.Changed()
	return true
}

func (c *Carrier) ended(l *link) {
	c.reports.Lock()
	defer c.reports.Unlock()
	c.mu.Lock()
	h, w := c.handler, c.way(l.peer)
	n := len(w.links)
	w.links = slices.DeleteFunc(w.links, func(other *link) bool { return other == l })
	lost, up := len(w.links) < n, len(w.links) > 0
	if lost && !up {
		w.status.Up, w.status.Since = false, c.cfg.Now()
	}
	c.mu.Unlock()
	if lost { // otherwise begin has replaced l, and has told the handler
		h.Link(l.peer, up)
		c.cfg.Changed()
	}
}

// write writes packets until the link is over. It flushes when no other packet waits.
func (l *link) write(w io.Writer) {
	b := bufio.NewWriterSize(w, 64<<10)
	for {
		select {
		case <-l.over:
			return
		case packet := <-l.out:
			if writeFrame(b, packet) != nil || len(l.out) == 0 && b.Flush() != nil {
				return
			}
		}
	}
}

func (c *Carrier) read(ctx context.Context, r *bufio.Reader) error {
	for {
		packet, err := readFrame(r, relay.MaxPacket)
		if err != nil {
			return err
		}
		// After an error, read can go on: the other host gets no receipt, and so sends the packet
		// again.
		if err := c.handler.Packet(ctx, packet); err != nil && ctx.Err() == nil {
			c.cfg.Log.Warn("a packet was not taken", "err", err)
		}
	}
}

func writeFrame(w io.Writer, data []byte) error {
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(data)))
	if _, err := w.Write(size[:]); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func readFrame(r io.Reader, limit uint32) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > limit {
		return nil, fmt.Errorf("a packet has %d bytes, at most %d", n, limit)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return data, nil
}

const (
	magic     = "c2c relay over ssh, version 1\n"
	signed    = "c2c relay over ssh, version 1: proof\x00"
	nonceSize = 32
	maxGreet  = 1 << 10
	maxNoise  = 64 << 10 // the most bytes that the remote shell may print before magic, such as a greeting or output of .bashrc
	no        = "no: "   // the prefix of a refusal, which is sent instead of a proof
)

// greet exchanges keys and random numbers with the other end. Then each end proves its key: it
// signs the random number of the other end, and both keys. So a proof is of no use on another link.
// The result of greet is the name of the host at the other end.
func (c *Carrier) greet(r *bufio.Reader, w io.Writer, want string) (peer string, err error) {
	own := c.cfg.Peers.Key.Public().SigningKey()
	nonce := make([]byte, nonceSize)
	rand.Read(nonce) // never fails
	if _, err := io.WriteString(w, magic); err != nil {
		return "", hangUp(err)
	}
	if err := writeFrame(w, slices.Concat(own, nonce)); err != nil {
		return "", hangUp(err)
	}
	if err := skipNoise(r); err != nil {
		return "", err
	}
	hello, err := readFrame(r, maxGreet)
	if err != nil {
		return "", hangUp(err)
	}
	if len(hello) != ed25519.PublicKeySize+nonceSize {
		return "", fmt.Errorf("the greeting of the other end has %d bytes: it is not c2c, or has another version", len(hello))
	}
	key, theirs := ed25519.PublicKey(hello[:ed25519.PublicKeySize]), hello[ed25519.PublicKeySize:]
	peer, refusal := c.known(key, want)
	answer := []byte(no + refusal)
	if refusal == "" {
		answer = c.cfg.Peers.Key.Sign(proof(own, key, theirs))
	}
	if err := writeFrame(w, answer); err != nil {
		return "", hangUp(err)
	}
	got, err := readFrame(r, maxGreet)
	switch {
	case refusal != "":
		return "", errors.New("the other end: " + refusal)
	case err != nil:
		return "", hangUp(err)
	case strings.HasPrefix(string(got), no):
		return "", fmt.Errorf("the other end refuses this host: %.200q", strings.TrimPrefix(string(got), no))
	case !ed25519.Verify(key, proof(key, own, nonce), got):
		return "", errors.New("the other end has not proved that it has the key of its host")
	}
	return peer, nil
}

func proof(signer, checker, nonce []byte) []byte {
	return slices.Concat([]byte(signed), signer, checker, nonce)
}

// known returns the name of the paired host that has this key, or the reason why the link is
// refused.
func (c *Carrier) known(key ed25519.PublicKey, want string) (peer, refusal string) {
	if key.Equal(c.cfg.Peers.Key.Public().SigningKey()) {
		return "", "it has the key of this very host"
	}
	p, ok := c.cfg.Peers.PeerOf(key)
	switch {
	case !ok:
		return "", "it is not paired"
	case p.Revoked != 0:
		return "", "it is revoked"
	case want != "" && p.Name != want:
		return "", fmt.Sprintf("it is %s, not %s", p.Name, want)
	}
	return p.Name, ""
}

func hangUp(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the other end hung up")
	}
	return err
}

// skipNoise reads everything up to the line magic, and that line too.
func skipNoise(r *bufio.Reader) error {
	for n := 0; n < maxNoise; {
		line, err := r.ReadSlice('\n')
		if strings.HasSuffix(string(line), magic) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return hangUp(err)
		}
		n += len(line)
	}
	return errors.New("the other end is not c2c: it sent much other text first")
}
