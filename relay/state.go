package relay

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"c2c/inbox"
	"c2c/internal/atomicfile"
)

// Outbox returns the name of the mailbox with the mail for a peer. No session can have that name.
func Outbox(peer string) string { return "host-" + peer }

// Directory is the name of the directory below a root in which the relay keeps its files.
const Directory = "relay"

// head records which messages have a receipt. The relay replaces the file before it acknowledges
// the lease of the messages. After a kill between these two steps, the messages up to Last are
// still in the outbox. Then the relay acknowledges them, and does not send them again.
type head struct {
	Epoch       uint64   `json:"epoch"`
	Next        uint64   `json:"next"`              // the first number without a receipt
	Hash        hash     `json:"link"`              // the hash up to the message before Next
	MaybeStored uint64   `json:"doubt"`             // messages up to this number may be stored under numbers of an earlier epoch
	Why         state    `json:"why"`               // the reason for this epoch
	Run         uint64   `json:"run"`               // grows with each start of the relay; it orders the packets that carry no mail
	Last        identity `json:"last"`              // the identity of the message before Next
	Refused     []uint64 `json:"refused,omitempty"` // the refused numbers among the messages that are acknowledged together with Last
}

// highWater records which messages of a peer this host has stored. The relay writes the file after
// it has stored the messages, and before it sends the receipt. If a message cannot be stored yet,
// later messages may be stored nevertheless, see Ahead.
type highWater struct {
	Epoch   uint64    `json:"epoch"`
	Number  uint64    `json:"number"`            // each message up to this number is stored or refused
	Hash    hash      `json:"link"`              // the hash up to Number
	Anew    bool      `json:"anew,omitempty"`    // the peer has begun a new epoch, and may not know yet that this host knows an earlier one
	Ahead   []hash    `json:"ahead,omitempty"`   // for each later message that is stored or refused: the hash up to it
	Refused []refusal `json:"refused,omitempty"` // refusals that the peer may not know of yet
}

// refusal is a message that this host has refused for good.
type refusal struct {
	Number uint64 `json:"number"`
	Why    Reason `json:"why"`
}

func (h hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

func (h *hash) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(h[:], text[:min(len(text), 2*len(h))]); err != nil || n != len(h) || len(text) != 2*n {
		return fmt.Errorf("link %q: want %d hex digits", text, 2*len(h))
	}
	return nil
}

const maxStateFile = 256 << 10

// readState reads a state file. It renames a damaged file, and treats it as lost: the two hosts
// recover from the loss, and report it.
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

// openState opens the directory of the relay's files.
func openState(root *atomicfile.Dir) (*atomicfile.Dir, error) {
	dir, err := root.Sub(Directory, true)
	if err != nil {
		return nil, fmt.Errorf("open the relay's files: %w", err)
	}
	return dir, root.Sync()
}
