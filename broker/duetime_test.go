package broker_test

import (
	"testing"
	"time"

	"c2c/inbox/mail"
)

func TestAnAnswerIsDueSoonerWhenTheMessageIsUrgent(t *testing.T) {
	t.Parallel()
	for tag, within := range map[string]time.Duration{"blocking": 10 * time.Minute, "urgent": 30 * time.Minute, "": 4 * time.Hour} {
		w, amber, birch, _ := asks(t, mail.Message{Kind: "question", Tag: tag})
		if due := w.owesOne(birch).Due; !due.Equal(w.clock.Add(within).UTC().Truncate(time.Microsecond)) {
			t.Errorf("%q: an answer to %s is due at %s, now is %s", tag, amber.Alias, due, w.clock)
		}
	}
}
