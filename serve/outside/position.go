package outside

import (
	"fmt"
	"strconv"
	"strings"
)

// position is how far a client has come in a stream. Its text is the id of the last event that the client has.
type position struct {
	epoch string
	n     uint64 // the last update of the hub
	place int64  // the client has all messages before this place in the sender's archive
}

func (p position) String() string { return fmt.Sprintf("%s.%d.%d", p.epoch, p.n, p.place) }

// parsePosition parses a client's Last-Event-ID. ok is false if id is not a position.
func parsePosition(id string) (p position, ok bool) {
	parts := strings.Split(id, ".")
	if len(id) > 300 || len(parts) != 3 || parts[0] == "" {
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
	return position{parts[0], n, place}, true
}
