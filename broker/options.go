package broker

import (
	"errors"
	"fmt"
	"time"

	"c2c/inbox/mail"
)

// Kinds lists the kinds of message that a session can send. Messages of c2c itself have another
// kind, "system".
func Kinds() []string {
	return []string{"message", "question", "task", "review", "status", "ack"}
}

// Tags lists the words that mark a message for its reader.
func Tags() []string { return []string{"fail", "blocking", "urgent"} }

// SetWithin sets a deadline of a message, ExpiresAt or AnswerBy, to a duration, such as 20m, from
// now on.
func SetWithin(deadline *float64, now time.Time, within string) error {
	d, err := lifetime(within)
	if err == nil {
		*deadline = mail.Seconds(now.Add(d))
	}
	return err
}

// SetTellAfter sets the duration after which the sender of a message gets a notice that it is
// unread. The argument after may be "never".
func SetTellAfter(m *mail.Message, after string) error {
	if after == "never" {
		m.TellAfter = -1
		return nil
	}
	d, err := lifetime(after)
	if err != nil {
		return fmt.Errorf("%w, or never", err)
	}
	m.TellAfter = d.Seconds()
	return nil
}

// maxLifetime bounds these times.
const maxLifetime = 365 * 24 * time.Hour

func lifetime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > maxLifetime {
		return 0, errors.New("want a duration from 1s to 8760h, such as 90s, 20m or 2h")
	}
	return d, nil
}
