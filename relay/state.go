package relay

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
)

// Outbox is the mailbox of what waits for a peer: no session has its name.
func Outbox(peer string) string { return "host-" + peer }

// Directory is where the relay keeps its files, below a root.
const Directory = "relay"

// head is what this host has receipts for. It is replaced before the lease of the messages is acknowledged, so that a kill between
// the two can be made up for: the messages up to Last are in the outbox still, and go no more.
type head struct {
	Epoch   uint64   `json:"epoch"`
	Next    uint64   `json:"next"`              // the first number without a receipt
	Link    link     `json:"link"`              // to the message before
	Doubt   uint64   `json:"doubt"`             // messages up to here waited when the epoch began, and may be stored under a number of an earlier one
	Why     state    `json:"why"`               // this epoch has begun
	Run     uint64   `json:"run"`               // of the process, for the order of what it sends beside mail
	Last    identity `json:"last"`              // the message before Next
	Refused []uint64 `json:"refused,omitempty"` // the numbers that were refused of those acknowledged with Last
}

// highWater is what this host has stored of a peer. It is written after the messages are in their mailboxes, and before the receipt.
type highWater struct {
	Epoch   uint64    `json:"epoch"`
	Number  uint64    `json:"number"`
	Link    link      `json:"link"`
	Anew    bool      `json:"anew,omitempty"`    // the peer has begun to count anew, and may not know yet that it is noticed
	Refused []refusal `json:"refused,omitempty"` // that the peer may not know of yet
}

// refusal is one message that is refused for good.
type refusal struct {
	Number uint64 `json:"number"`
	Why    Reason `json:"why"`
}

func (l link) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(l[:])), nil }

func (l *link) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(l[:], text[:min(len(text), 2*len(l))]); err != nil || n != len(l) || len(text) != 2*n {
		return fmt.Errorf("link %q: want %d hex digits", text, 2*len(l))
	}
	return nil
}

const maxStateFile = 256 << 10

// readState reads a file of ours. A damaged one counts as lost, which the two hosts make up for and tell of; it is put aside.
func readState[T interface{ valid() bool }](dir *atomicfile.Dir, name string, log inbox.Log) (state T, there bool, err error) {
	data, err := dir.ReadIf(name)
	if err != nil || data == nil {
		return state, false, err
	}
	if len(data) <= maxStateFile {
		if err = json.Unmarshal(data, &state); err == nil && state.valid() {
			return state, true, nil
		}
	}
	log.Warn("damaged file set aside", "file", name, "err", err)
	var none T
	return none, false, dir.Rename(name, name+".damaged")
}

func writeState(dir *atomicfile.Dir, name string, state any) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return dir.Replace(name, append(data, '\n'))
}

func (h head) valid() bool {
	return h.Epoch > 0 && h.Epoch <= maxNumber && h.Next > 0 && h.Next <= maxNumber && h.Why < lastState
}

func (h highWater) valid() bool {
	return h.Epoch > 0 && h.Epoch <= maxNumber && h.Number <= maxNumber && len(h.Refused) <= maxRefused
}

// openState gives the directory of the relay's files.
func openState(root *atomicfile.Dir) (*atomicfile.Dir, error) {
	dir, err := root.Sub(Directory, true)
	if err != nil {
		return nil, fmt.Errorf("open the relay's files: %w", err)
	}
	return dir, root.Sync()
}
