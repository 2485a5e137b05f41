package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"c2c/inbox/atomicfile"
	"c2c/senders"
)

// seen remembers the accepted signed requests. The mailbox recognizes a repeated id by itself; but a repeated request may be
// for another mailbox, because the alias has moved, or the mailbox may have been pruned.
//
// For each sender there is a file seen/<name>.log, a line for each request: a hash of what proves it, and one of its body. A
// long file is renamed to .old and replaces the last one: so some thousands are remembered.
type seen struct {
	dir *atomicfile.Dir
	mu  sync.Mutex
	all map[string]*sync.Mutex // of the senders
}

const (
	seenDir  = "seen"
	seenSize = 16 // bytes of a hash
	maxSeen  = 256 << 10
)

// errOtherBody reports that c2c has accepted a signed request with this id and another body before.
var errOtherBody = errors.New("another request with this id was taken before")

// once runs store if the request is new, and remembers the request if store succeeds. again is true for a repeated request: its
// sender did not read our answer, so it must not get an error. After a kill in between, the mailbox has the message and
// recognizes its id. once stores one request of a sender at a time, so that only one of two equal requests passes.
func (s *seen) once(from senders.Sender, proof string, body []byte, store func() error) (again bool, err error) {
	own := s.lockOf(from.Name)
	own.Lock()
	defer own.Unlock()
	dir, err := s.dir.Sub(seenDir, true)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	sum := sumOf(from, proof)
	content := sha256.Sum256(body)
	id, said := hex.EncodeToString(sum[:seenSize]), hex.EncodeToString(content[:seenSize])
	name, old := from.Name+".log", from.Name+".old"
	size := 0
	for _, file := range []string{name, old} {
		data, err := dir.ReadIf(file)
		if err != nil {
			return false, err
		}
		if before, is := find(data, id); is {
			if len(before) == len(said) && before != said {
				return false, errOtherBody
			}
			return true, nil // even if the line has no hash of the body
		}
		if file == name {
			size = len(data)
		}
	}
	if err := store(); err != nil {
		return false, err
	}
	if size >= maxSeen {
		if err := dir.Rename(name, old); err != nil {
			return false, err
		}
	}
	return false, dir.AppendLines(name, []byte(id+" "+said+"\n"))
}

// find searches the lines for a request, and returns the hash of its body. A line of an older version (66ed395), or one that
// was cut off, has no such hash. Then the request counts as the same one: senders repeat a request because our answer was lost
// far more often than they reuse an id, and a service switches off an endpoint that keeps refusing.
func find(lines []byte, id string) (said string, is bool) {
	for line := range bytes.Lines(lines) {
		if rest, is := bytes.CutPrefix(line, []byte(id)); is {
			return string(bytes.TrimSpace(rest)), true
		}
	}
	return "", false
}

func (s *seen) lockOf(name string) *sync.Mutex {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name] == nil {
		s.all[name] = &sync.Mutex{}
	}
	return s.all[name]
}
