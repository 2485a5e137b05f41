package outside

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"c2c/internal/atomicfile"
)

// seen remembers the signed requests that were accepted. A mailbox recognizes a repeated id by
// itself, except in two cases: the alias has moved to another mailbox, or the mailbox was pruned.
//
// Each sender has a file seen/<name>.log with a line for each request: a hash of its signature or
// id, and a hash of its body. A long file is renamed to .old, which replaces the previous .old. In
// this way seen remembers some thousands of requests.
type seen struct {
	dir   *atomicfile.Dir
	locks sync.Map // a *sync.Mutex for each sender, by its name
}

const (
	seenDir  = "seen"
	seenSize = 16 // bytes of a hash
	maxSeen  = 256 << 10
)

// errOtherBody: c2c has already accepted a signed request with the same id and a different body.
var errOtherBody = errors.New("another request with this id was accepted before")

// storeOnce calls the function store if the request is new, and remembers the request if store
// succeeds. The result again is true for a repeated request: its sender has not read our first
// answer, so the sender must not get an error. If the daemon is killed after store and before the
// line is written, the mailbox recognizes the id of a repeated request. storeOnce handles the
// requests of a sender one after another, so only one of two equal requests is stored.
func (s *seen) storeOnce(from Sender, proof string, body []byte, store func() error) (again bool, err error) {
	own, _ := s.locks.LoadOrStore(from.Name, new(sync.Mutex))
	own.(*sync.Mutex).Lock()
	defer own.(*sync.Mutex).Unlock()
	dir, err := s.dir.Sub(seenDir, true)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	sum := webhookSumOf(from, proof)
	content := sha256.Sum256(body)
	id, said := hex.EncodeToString(sum[:seenSize]), hex.EncodeToString(content[:seenSize])
	name, old := from.Name+".log", from.Name+".old"
	for _, file := range []string{name, old} {
		data, err := dir.ReadIf(file)
		if err != nil {
			return false, err
		}
		if before, is := find(data, id); is {
			if len(before) == len(said) && before != said {
				return false, errOtherBody
			}
			return true, nil // also if the line has no whole hash of the body
		}
	}
	if err := store(); err != nil {
		return false, err
	}
	if err := atomicfile.Rotate(dir, name, old, maxSeen); err != nil {
		return false, err
	}
	return false, dir.AppendLines(name, []byte(id+" "+said+"\n"))
}

// find searches the lines for a request, and returns the hash of its body. A line that was cut off
// has no whole hash of the body. Such a request counts as repeated and is no error, for two
// reasons. A sender is far likelier to repeat a request than to reuse an id, and a service stops
// calling an endpoint that refuses too often.
func find(lines []byte, id string) (said string, found bool) {
	for line := range bytes.Lines(lines) {
		if rest, is := bytes.CutPrefix(line, []byte(id)); is {
			return string(bytes.TrimSpace(rest)), true
		}
	}
	return "", false
}
