package broker

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"c2c/inbox"
)

// The answers of a session are <sid>.answered, an empty file: its time is when the session's model was last seen to answer.
// Nothing of it is synced: after a power cut the next answer tells again.
const answeredEnd = ".answered"

func answeredName(sid string) string { return sid + answeredEnd }

// maxFailure bounds why a model failed, in bytes.
const maxFailure = 200

// SawAnswer records that the model of a session answered at that time; zero is now. The time never goes back, except from a
// future that a wrong clock has set. For now it takes one system call once the file is there.
func (b *Broker) SawAnswer(sid string, at time.Time) error {
	now := b.now()
	if at.IsZero() || at.After(now) {
		at = now
	}
	name := answeredName(sid)
	if at.Before(now) {
		last, _, err := b.root.TimeOf(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && !last.Before(at) && !last.After(now) {
			return nil
		}
	}
	err := b.root.Touch(name, at)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := b.root.Log(name, nil); err != nil { // it makes the file
		return err
	}
	return b.root.Touch(name, at)
}

// SawFailure records why the model of a session gave no answer, in words of its client. An answer seen later makes it void.
func (b *Broker) SawFailure(ctx context.Context, s Session, why string) error {
	why = inbox.Visible(strings.Join(strings.Fields(why[:min(len(why), 4*maxFailure)]), " "), "")
	if len(why) > maxFailure {
		why = why[:maxFailure]
	}
	why = strings.ToValidUTF8(why, "")
	if why == "" {
		why = "unknown"
	}
	return b.changeFacts(ctx, s.ID, func(f *facts) { f.Failure, f.FailedAt = why, b.now().UTC() })
}

// lastAnswer is when the model of a session was last seen to answer; zero: never, or only by a clock that was wrong.
func (b *Broker) lastAnswer(sid string) time.Time {
	at, _, err := b.root.TimeOf(answeredName(sid))
	if err != nil || at.After(b.now()) {
		return time.Time{}
	}
	return at
}

// failure says why the model of a session failed last, and when; "" if it has answered since.
func (b *Broker) failure(sid string) (why string, at time.Time) {
	f := b.factsOf(sid)
	if f.Failure == "" || isFuture(f.FailedAt, b.now()) || b.lastAnswer(sid).After(f.FailedAt) {
		return "", time.Time{}
	}
	return f.Failure, f.FailedAt
}
