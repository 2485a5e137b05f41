// Package hooks speaks the clients' hook protocols: it reads the event that a
// client writes to a hook's standard input and makes the answer that puts mail
// in front of its model. It holds the hook script that install puts in place.
//
// Nothing here touches a mailbox, and everything may be called at once.
package hooks

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"c2c/inbox"
)

// maxEvent bounds an event: tool output may be large, and is not read.
const maxEvent = 16 << 20

// Event is what a client tells a hook. Fields that a client leaves out are zero.
type Event struct {
	Client         string `json:"-"`
	Name           string `json:"hook_event_name"`
	SessionID      string `json:"session_id"`
	AgentID        string `json:"agent_id"` // set in a subagent
	StopHookActive bool   `json:"stop_hook_active"`
	Source         string `json:"source"` // of SessionStart: startup, resume, clear, compact
	Prompt         string `json:"prompt"` // of UserPromptSubmit
	Watch          string `json:"-"`      // a file that the answer asks the client to watch
}

// Parse reads one event.
func Parse(client string, r io.Reader) (Event, error) {
	e := Event{}
	dec := json.NewDecoder(io.LimitReader(r, maxEvent))
	if err := dec.Decode(&e); err != nil {
		return Event{}, fmt.Errorf("read hook event: %w", err)
	}
	e.Client = client
	if e.Name == "" {
		return Event{}, fmt.Errorf("read hook event: it has no hook_event_name")
	}
	return e, nil
}

// HasMail says whether the prompt can hold a message at all.
func (e Event) HasMail() bool {
	return e.Name == "UserPromptSubmit" && strings.Contains(e.Prompt, inbox.EnvelopeStart)
}

// Holds says whether the prompt is, or contains, a message that was carried to
// the client another way: then its model has the message.
func (e Event) Holds(m inbox.Message) bool {
	return e.HasMail() && strings.Contains(e.Prompt, m.Envelope())
}

// Watches says whether the answer may name a file that the client is to watch.
func (e Event) Watches() bool { return e.Client == "claude" && e.Name == "SessionStart" }

// Changed says whether the client tells that such a file has changed.
func (e Event) Changed() bool { return e.Client == "claude" && e.Name == "FileChanged" }

// Carries says whether mail may be handed over or announced with this event.
// A subagent's hook would put it in front of the subagent, and a Stop hook that
// answers its own continuation would never let the turn end.
func (e Event) Carries() bool {
	switch e.Name {
	case "PostToolUse":
		return e.AgentID == ""
	case "Stop":
		return !e.StopHookActive
	case "UserPromptSubmit", "SessionStart":
		return true
	}
	return false
}
