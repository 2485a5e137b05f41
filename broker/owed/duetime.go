package owed

import (
	"fmt"
	"strings"
	"time"

	"c2c/inbox/mail"
)

// ObligationTimesVariable sets within which time an answer is due, such as blocking=10m,urgent=30m,normal=4h.
const ObligationTimesVariable = "C2C_OBLIGATION_TIMES"

// ObligationTimes are the times within which a message that asks is to be answered, by its bucket. The zero value of each
// stands for the time behind it.
type ObligationTimes struct {
	Blocking time.Duration // 10 min
	Urgent   time.Duration // 30 min
	Normal   time.Duration // 4 h
}

func (t ObligationTimes) WithDefaults() ObligationTimes {
	for _, one := range []struct {
		is *time.Duration
		or time.Duration
	}{{&t.Blocking, 10 * time.Minute}, {&t.Urgent, 30 * time.Minute}, {&t.Normal, 4 * time.Hour}} {
		if *one.is <= 0 {
			*one.is = one.or
		}
	}
	return t
}

func (t ObligationTimes) of(bucket string) time.Duration {
	switch bucket {
	case mail.Blocking:
		return t.Blocking
	case mail.Urgent:
		return t.Urgent
	}
	return t.Normal
}

// String is how the variable says it.
func (t ObligationTimes) String() string {
	t = t.WithDefaults()
	return fmt.Sprintf("blocking=%s,urgent=%s,normal=%s", t.Blocking, t.Urgent, t.Normal)
}

// ObligationTimesOf reads the times from the environment. A part that is wrong counts as not said, and err tells of it.
func ObligationTimesOf(getenv func(string) string) (t ObligationTimes, err error) {
	value := getenv(ObligationTimesVariable)
	if strings.TrimSpace(value) == "" {
		return t, nil
	}
	for part := range strings.SplitSeq(value, ",") {
		bucket, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		within, perr := lifetime(strings.TrimSpace(text))
		switch is := strings.TrimSpace(bucket); {
		case perr != nil:
			err = fmt.Errorf("%q: %w", part, perr)
		case is == mail.Blocking:
			t.Blocking = within
		case is == mail.Urgent:
			t.Urgent = within
		case is == mail.Normal:
			t.Normal = within
		default:
			err = fmt.Errorf("%q: want blocking, urgent or normal, each with = and a duration, and commas in between", part)
		}
	}
	return t, err
}

// NotAsked, as Due of a message, says that nobody owes an answer to it, whatever its kind: it is sent to many.
const NotAsked = -1

// DueOf is when an answer to a message is due that is sent now; 0: none is.
func (t ObligationTimes) DueOf(m mail.Message, now time.Time) float64 {
	switch {
	case m.Due == NotAsked || !m.Asks():
		return 0
	case m.AnswerBy > 0:
		return m.AnswerBy
	}
	return mail.Seconds(now.Add(t.of(m.Bucket())))
}
