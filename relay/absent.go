package relay

import (
	"context"
	"errors"
)

// AnswerAbsent answers a frame for a project that this host does not have. It ignores all other
// packets, and unpaired hosts. After the answer, the sending host keeps its mail. It asks again
// every five minutes, and when this host sends it a hello for the project.
func AnswerAbsent(ctx context.Context, peers Peers, carrier Carrier, packet []byte) error {
	from, h, _, err := check(peers, packet)
	if err != nil || h.kind != Frame {
		if errors.Is(err, errForeign) {
			return nil
		}
		return err
	}
	state := noProject
	if from.Revoked != 0 {
		state = revoked
	}
	answer, err := pack(peers, from, header{kind: Receipt, project: h.project, epoch: h.epoch, attempt: h.attempt, state: state}, nil)
	if err != nil {
		return err
	}
	if err := carrier.Send(ctx, from.Name, answer); !errors.Is(err, ErrAway) {
		return err
	}
	return nil
}
