package watch

import (
	"fmt"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

func TestOnlyWholeMessagesThatLeaveARecordAreCarriedInOrder(t *testing.T) {
	small, next := mail.Message{From: "birch", ID: "small", Content: "word"}, mail.Message{From: "coral", ID: "next", Content: "word"}
	large, brief := mail.Message{From: "birch", ID: "large", Content: strings.Repeat("x", maxCarry)}, small
	brief.Ephemeral = true
	for _, c := range []struct {
		name string
		msgs []mail.Message
		want string
	}{
		{"all that fit", []mail.Message{small, next}, "[small next]"},
		{"not what is behind a long one", []mail.Message{small, large, next}, "[small]"},
		{"not a part of a long one", []mail.Message{large}, "[]"},
		{"not what leaves no record", []mail.Message{small, brief}, "[small]"},
	} {
		s, bell := newStage(t), &script{}
		var sent []string
		had, err := Receipt{Box: s.box}.Carry(t.Context(), c.msgs, func(msgs []mail.Message) ([]string, error) {
			for _, m := range msgs {
				sent = append(sent, m.ID)
			}
			return nil, nil
		}, bell)
		if fmt.Sprint(sent) != c.want || len(had) > 0 || err != nil || len(bell.rung) != 1 {
			t.Errorf("%s: sent %s, want %s; had %q, rung %d times, %v", c.name, sent, c.want, had, len(bell.rung), err)
		}
	}
}
