package outside

import (
	"context"
	"fmt"
	"net/http"
)

// knock answers a person who writes through a bridge, if nobody here has allowed this person yet.
// The first answer to this person contains a code. knock does not read the message.
func (h *Hooks) knock(ctx context.Context, q *request) (said, error) {
	code, first, err := h.cfg.Senders.Knock(ctx, q.sender, q.identity)
	if err != nil {
		return said{}, err
	}
	h.cfg.Log.Info("an unknown identity writes through a bridge", "bridge", q.sender.Name, "identity", q.identity, "code", first)
	if !first {
		return said{status: http.StatusAccepted}, nil
	}
	return said{http.StatusAccepted, fmt.Sprintf("Nobody here knows you yet. Tell the person of this project this code: %s. "+
		"They type: c2c senders pair %s\n", code, code), false}, nil
}
