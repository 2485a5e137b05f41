package watch

import (
	"fmt"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/serve/live"
	"c2c/sessions"
)

// step is a state of a message, and since when the message has it. That a message was sent is no
// step: its own time says when.
type step struct {
	state string
	at    time.Time
}

// maxSteps bounds the steps of a message: a ring may be repeated again and again.
const maxSteps = 12

// step records the states of messages that have changed.
func (a *app) step(changed []*live.Mail) {
	for _, m := range changed {
		steps := a.steps[m.Key]
		last := sessions.Queued
		if len(steps) > 0 {
			last = steps[len(steps)-1].state
		}
		if m.State == last || m.State == live.Posted || len(steps) >= maxSteps {
			continue
		}
		if m.State == sessions.Read && !m.HandedAt.IsZero() {
			steps = append(steps, step{sessions.Handed, m.HandedAt})
		}
		a.steps[m.Key] = append(steps, step{m.State, m.At})
	}
}

// answered is the state of a message that a later one of the pane answers.
const answered = "answered"

// answers returns when each message was answered first, by its id.
func answers(p *pane) map[string]time.Time {
	first := map[string]time.Time{}
	for _, m := range p.mails {
		if at, known := first[m.InReplyTo]; m.InReplyTo != "" && (!known || m.Time().Before(at)) {
			first[m.InReplyTo] = m.Time()
		}
	}
	return first
}

// lane returns the parts of a line of the timeline: who wrote to whom, and how far the message has
// come, with the time from each step to the next one.
func (a *app) lane(m *mailView, clocks, names int, answeredAt map[string]time.Time) []part {
	mark := "  "
	if m.InReplyTo != "" {
		mark = "↳ "
	}
	parts := []part{{fmt.Sprintf("%*s ", clocks, clock(m.Time())), dim}, {mark, dim}, {padded(m.From, names), a.colourOf(m.From)}, {" → ", dim}, {padded(m.To, names) + "  ", a.colourOf(m.To)}, {"sent", stateStyles[sessions.Queued]}}
	if mail.RoomOf(m.To) != "" {
		return append(parts, part{"  " + word(m.FirstWords(80)), dim})
	}
	steps := a.steps[m.fate.Key]
	if len(steps) == 0 && m.fate.State != sessions.Queued { // the screen has seen only how far it has come in the end
		steps = []step{{m.fate.State, m.fate.At}}
	}
	if at, is := answeredAt[m.ID]; is {
		steps = append(steps[:len(steps):len(steps)], step{answered, at})
	}
	since := m.Time()
	for _, s := range steps {
		parts = append(parts, part{" ─" + short(s.at.Sub(since)) + "─ ", dim}, part{s.state, stateStyles[s.state]})
		since = s.at
	}
	if len(steps) == 0 || steps[len(steps)-1].state == sessions.Rung {
		parts = append(parts, part{" ─ waits " + short(time.Since(since)), stateStyles[sessions.Queued]})
	}
	return append(parts, part{"  " + word(m.FirstWords(80)), dim})
}

// short writes a duration without a space.
func short(d time.Duration) string { return strings.ReplaceAll(format.Age(max(0, d)), " ", "") }
