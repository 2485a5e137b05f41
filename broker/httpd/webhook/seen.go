package webhook

import (
	"bytes"
	"encoding/hex"
	"errors"
	"sync"

	"c2c/broker/senders"
	"c2c/inbox/atomicfile"
)

// seen remembers the signed requests that were taken. The mailbox refuses the id of one that comes again; but a request may
// come again under another receiver's alias, or when that has been pruned.
//
// For each sender there is a file seen/<name>.log, a line for each request. When it is long it becomes .old, in the place of
// the one before: so some thousands are remembered.
type seen struct {
	dir *atomicfile.Dir
	mu  sync.Mutex
	all map[string]*sync.Mutex // of the senders
}

const (
	seenDir  = "seen"
	seenSize = 16 // bytes of a hash
	maxSeen  = 128 << 10
)

// once runs store if the request was not seen yet, and remembers it when that succeeds. Killed in between, the mailbox has
// the message, and refuses it. One request of a sender is stored at a time, so that of two equal ones one passes.
func (s *seen) once(from senders.Sender, proof string, store func() error) error {
	own := s.lockOf(from.Name)
	own.Lock()
	defer own.Unlock()
	dir, err := s.dir.Sub(seenDir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	sum := sumOf(from, proof)
	line := []byte(hex.EncodeToString(sum[:seenSize]) + "\n")
	name, old := from.Name+".log", from.Name+".old"
	size := 0
	for _, file := range []string{name, old} {
		data, err := dir.ReadIf(file)
		if err != nil {
			return err
		}
		if bytes.Contains(data, line) {
			return errReplay
		}
		if file == name {
			size = len(data)
		}
	}
	serr := store()
	if serr != nil && !errors.Is(serr, errReplay) {
		return serr
	}
	if size >= maxSeen {
		if err := dir.Rename(name, old); err != nil {
			return err
		}
	}
	return errors.Join(serr, dir.AppendLines(name, line))
}

func (s *seen) lockOf(name string) *sync.Mutex {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name] == nil {
		s.all[name] = &sync.Mutex{}
	}
	return s.all[name]
}
