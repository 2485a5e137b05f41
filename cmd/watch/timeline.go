package watch

import (
	"fmt"
	"strings"
	"time"

	"c2c/internal/format"
	"c2c/serve/live"
	"c2c/sessions"
)

// step is a state of a message, and since when the message has it; zero: nobody knows. That a
// message was sent is no step: its own time says when.
type step struct {
	state string
	at    time.Time
}

// stepsTo returns the step to the present state of a message, behind its hand-over if the message
// was read at an unknown time.
func stepsTo(m *live.Mail) []step {
	if m.State == sessions.Read && !m.HandedAt.IsZero() {
		return []step{{sessions.Handed, m.HandedAt}, {state: sessions.Read}}
	}
	return []step{{m.State, m.At}}
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
		a.steps[m.Key] = append(steps, stepsTo(m)...)
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
	if m.fate.State == live.Posted {
		return append(parts, part{"  " + word(m.PlainWords(80)), dim})
	}
	steps := a.steps[m.fate.Key]
	if len(steps) == 0 && m.fate.State != sessions.Queued { // the screen has seen only how far it has come in the end
		steps = stepsTo(m.fate)
	}
	if at, is := answeredAt[m.ID]; is {
		steps = append(steps[:len(steps):len(steps)], step{answered, at})
	}
	since := m.Time()
	for _, s := range steps {
		took := " ─ "
		if !s.at.IsZero() {
			took = " ─" + short(s.at.Sub(since)) + "─ "
			since = s.at
		}
		parts = append(parts, part{took, dim}, part{s.state, stateStyles[s.state]})
	}
	if len(steps) == 0 || steps[len(steps)-1].state == sessions.Rung {
		parts = append(parts, part{" ─ waits " + short(time.Since(since)), stateStyles[sessions.Queued]})
	}
	return append(parts, part{"  " + word(m.PlainWords(80)), dim})
}

// short writes a duration without a space.
func short(d time.Duration) string { return strings.ReplaceAll(format.Age(max(0, d)), " ", "") }
