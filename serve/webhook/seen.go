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

// seen remembers the signed requests that were taken. The mailbox knows the id of one that comes again; but a request may
// come again under another receiver's alias, or when that has been pruned.
//
// For each sender there is a file seen/<name>.log, a line for each request: a hash of what proves it, and one of its body.
// When it is long it becomes .old, in the place of the one before: so some thousands are remembered.
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

// errOtherBody says that a signed request with this id came before, and had another body.
var errOtherBody = errors.New("another request with this id was taken before")

// once runs store if the request was not seen yet, and remembers it when that succeeds. again says that the same request came
// before: its sender did not read our answer, and must not be told that anything is wrong. Killed in between, the mailbox has
// the message, and knows it. One request of a sender is stored at a time, so that of two equal ones one passes.
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
			return true, nil // also where the line does not tell the body
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

// find looks for a request among the lines, and gives the hash of its body. A line of a version that kept
// none (66ed395), or one that was cut off, does not tell it. Then the request counts as the same one: its sender repeats it because our
// answer was lost, far more often than it uses an id again, and services switch off an endpoint that goes on to refuse.
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
