package live

import (
	"slices"
	"sort"
	"time"

	"c2c/inbox/mail"
)

// pending is an event that still has to be reported.
type pending struct {
	Event
	held bool // the previous look held the event back
}

func (v *View) event(e Event) { v.pending = append(v.pending, pending{Event: e}) }

// due returns the events to report now. If a message was sent after the look began, its events wait
// for the next look, which begins at once: an earlier message of the same sender may have come to
// another mailbox after look had read that mailbox.
func (v *View) due(began time.Time) (due []Event) {
	var later []pending
	held := map[mail.Fingerprint]bool{}
	for _, p := range v.pending {
		if held[p.Fingerprint] || p.What == Stored && !p.held && p.Message.Time().After(began) {
			held[p.Fingerprint] = p.Fingerprint != mail.Fingerprint{}
			later = append(later, pending{p.Event, true})
			continue
		}
		due = append(due, p.Event)
	}
	v.pending = later
	for i := range due {
		if due[i].Alias == "" {
			due[i].Alias = v.alias(due[i].SessionID)
		}
	}
	inOrder(due)
	return due
}

// inOrder moves the Stored events to the front, in the order of sending, and keeps the order of the
// rest.
func inOrder(events []Event) {
	var messages []Event
	for _, e := range events {
		if e.What == Stored {
			messages = append(messages, e)
		}
	}
	sort.SliceStable(messages, func(i, j int) bool { return messages[i].Message.TS < messages[j].Message.TS })
	rest := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.What == Stored })
	copy(events, append(messages, rest...))
}
