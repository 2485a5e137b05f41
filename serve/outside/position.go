package outside

import (
	"fmt"
	"strconv"
	"strings"

	"c2c/inbox/mail"
)

// position is how far a client has come in a stream. Its text is the id of the last event that the client has.
type position struct {
	epoch string
	n     uint64 // the last update of the hub
	place int64  // the client has all messages before this place in the sender's archive
	had   string // the id of a message that the client already has, although it comes after place in the archive; "": none
}

func (p position) String() string {
	id := fmt.Sprintf("%s.%d.%d", p.epoch, p.n, p.place)
	if p.had != "" {
		id += "." + p.had
	}
	return id
}

// parsePosition parses a client's Last-Event-ID. ok is false if id is not a position.
func parsePosition(id string) (p position, ok bool) {
	parts := strings.SplitN(id, ".", 4)
	if len(id) > 300 || len(parts) < 3 || parts[0] == "" {
		return position{}, false
	}
	n, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return position{}, false
	}
	place, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || place < 0 {
		return position{}, false
	}
	p = position{epoch: parts[0], n: n, place: place}
	if len(parts) == 4 {
		if p.had = parts[3]; !mail.ValidName(p.had) {
			return position{}, false
		}
	}
	return p, true
}
