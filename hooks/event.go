// Package hooks speaks the clients' hook protocols: it reads the event that a
// client writes to a hook's standard input, and makes the answer that shows mail
// to the client's model. It embeds the hook script that install writes.
//
// Each client has a file with its name for what only that client does.
//
// The package touches no mailbox. Goroutines may call everything at once.
package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"c2c/inbox/mail"
)

// maxEvent bounds an event, in bytes: tool output, which c2c ignores, may be large.
const maxEvent = 16 << 20

// protocol describes the hooks of one client.
type protocol struct {
	name   string
	limit  int                   // the most that one answer can show, in units of length
	length func(text string) int // the length as the client counts it
	shows  func(e Event) content
	// encode makes the answer: c2c prints a string as it is, anything else as JSON. person is a text that only people see.
	encode func(e Event, text, person string) any
	hides  func(e Event) bool // the client shows its person only the text person; nil: it shows the whole answer
	secret string             // event whose answer the client does not show to its person at all, or empty
	errors string             // event that takes its answer on standard error, with status 2, or empty
	// agent finds the agent of the session in which the event happened, "" for the session's own; nil: the event says. It
	// reads the client's logs, and may wait for them.
	agent  func(e Event, config string) string
	watch  string // event whose answer may name a file to watch, or empty
	change string // event that reports a change of that file, or empty
	// inbound says how the person keeps other sessions from writing, "" if they do not; nil: the client has no such setting.
	inbound func(config string, getenv func(string) string) string
	opened  string // event that only reports which process has opened the session, or empty
	// answered returns when the session's model answered, if the event shows it, else zero; nil: no event shows it.
	answered func(e Event, config string, now time.Time) time.Time
	does     func(e Event) string // what the session does according to the event, a word of package client or ""; nil: unknown
	often    []string             // events that happen many times in a turn
	// note returns a sentence of ours for the model, or ""; nil: there is none.
	note func(e Event) string
	// dropped matches messages that were in the client's record of the session and are there no more; nil: it drops none.
	dropped func(e Event) func(mail.Message) bool
	// shown matches messages that the client's record of the session has; nil: c2c does not read the record.
	shown func(e Event) func(mail.Message) bool
	// byProcess means that events do not name the session: it is the session of the nearest ancestor process that has one.
	byProcess bool
	tells     string // event whose answer can tell the person about mail that the model got before unseen, or empty
	rung      string // event whose answer the client would show as an error, so a ringer brings the mail right after it; or empty
	carries   string // prefix of a prompt that a ringer of ours has made, and with which the client got mail; or empty
	prompted  string // event that shows in which conversation of the process the person writes, or empty
	script    bool   // its hooks run the script, which looks for the pointer
}

// content is what an answer to an event may hold.
type content int

const (
	nothing content = iota
	notice          // only that mail waits: the client would present a peer's words as another author's
	bodies
)

// protocols has one line for each client.
func protocols() []protocol {
	return []protocol{claude(), codex(), copilot(), qwen(), kimi(), gemini(), cursor()}
}

// Clients returns the names of the clients whose hooks c2c knows.
func Clients() (names []string) {
	for _, p := range protocols() {
		names = append(names, p.name)
	}
	return names
}

// Event is what a client sends to a hook. Fields that a client leaves out are zero.
type Event struct {
	Name           string         `json:"hook_event_name"`
	SessionID      string         `json:"session_id"`
	AgentID        string         `json:"agent_id"`        // set in a subagent
	Conversation   string         `json:"conversation_id"` // one of several in the session's process
	StopHookActive bool           `json:"stop_hook_active"`
	Prompt         prompt         `json:"prompt"` // of UserPromptSubmit
	Notification   string         `json:"notification_type"`
	Transcript     string         `json:"transcript_path"` // the client's record of the session
	Tool           string         `json:"tool_name"`
	Input          tool           `json:"tool_input"`
	ToolFailed     failed         `json:"tool_response"`
	Status         any            `json:"status"`         // how a turn has ended; other clients may mean something else
	Loops          any            `json:"loop_count"`     // follow-ups of ours in the turn
	Host           any            `json:"cursor_version"` // set by a client that also runs other clients' hooks
	Took           any            `json:"duration_ms"`    // how long a tool ran
	Error          any            `json:"error"`          // of StopFailure, as are the next three
	ErrorType      any            `json:"error_type"`
	ErrorMessage   any            `json:"error_message"`
	ErrorDetails   any            `json:"error_details"`
	Note           string         `json:"-"` // a sentence of ours that the answer holds
	Watch          string         `json:"-"` // a file that the answer asks the client to watch
	Now            time.Time      `json:"-"`
	Carried        []mail.Message `json:"-"` // mail that the client got another way, and does not show; see CarriesMail

	protocol     protocol
	agentUnknown bool // see AgentUnknown
}

// unknownAgent is the AgentID of an event that may have happened in any agent of the session.
const unknownAgent = "unknown"

// A prompt is the text of a prompt. Some clients send it in parts.
type prompt string

func (p *prompt) UnmarshalJSON(data []byte) error {
	var parts []struct{ Text string }
	if err := json.Unmarshal(data, (*string)(p)); err == nil {
		return nil
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		*p += prompt(part.Text)
	}
	return nil
}

// failed reports whether a tool's response has an error. Each client has another form for it.
type failed bool

func (f *failed) UnmarshalJSON(data []byte) error {
	var response struct{ Error any }
	*f = failed(json.Unmarshal(data, &response) == nil && response.Error != nil)
	return nil
}

// Parse reads one event of a client.
func Parse(client string, r io.Reader) (Event, error) {
	i := slices.Index(Clients(), client)
	if i < 0 {
		return Event{}, fmt.Errorf("client %q: hooks are known of %s", client, strings.Join(Clients(), ", "))
	}
	e := Event{protocol: protocols()[i]}
	err := json.NewDecoder(io.LimitReader(r, maxEvent)).Decode(&e)
	if err == nil && e.Name == "" {
		err = errors.New("it has no hook_event_name")
	}
	if err != nil {
		return Event{}, fmt.Errorf("read hook event: %w", err)
	}
	if e.Host != nil && !e.protocol.byProcess {
		// Host has a c2c hook of its own, and its sessions do not belong to the client whose hook this is.
		e.protocol = protocol{name: e.protocol.name, shows: func(Event) content { return nothing }}
	}
	if e.agentUnknown = e.protocol.agent != nil; e.agentUnknown {
		e.AgentID = unknownAgent
	}
	if e.protocol.note != nil {
		e.Note = e.protocol.note(e)
	}
	return e, nil
}

// Holds returns a function that reports whether the client has a message that c2c carried to it another way: then its
// model has it. Nil: this event cannot show that.
func (e Event) Holds() func(mail.Message) bool {
	prompt := string(e.Prompt)
	switch {
	case e.protocol.shown != nil:
		return e.protocol.shown(e)
	case e.Name == "UserPromptSubmit" && strings.Contains(prompt, mail.EnvelopeStart):
		return func(m mail.Message) bool {
			return strings.Contains(prompt, m.InlineEnvelope()) || strings.Contains(prompt, m.Envelope())
		}
	}
	return nil
}

// Dropped returns a function that reports whether the client has dropped a message that it got, together with a request that
// failed or was stopped. Nil: this event cannot show that.
func (e Event) Dropped() func(mail.Message) bool {
	if e.protocol.dropped == nil || e.Name != "BeforeAgent" && e.Name != "AfterAgent" {
		return nil
	}
	return e.protocol.dropped(e)
}

// LeavesMail reports whether the hook should leave mail to a ringer of the session, which brings it right after the event.
func (e Event) LeavesMail() bool { return e.protocol.rung == e.Name }

// TellsLater reports whether the answer can tell the person about mail that Untold events have shown only to the model. If
// the agent is still unknown, this assumes the session's own.
func (e Event) TellsLater() bool {
	return e.protocol.tells == e.Name && (e.AgentID == "" || e.agentUnknown)
}

// Untold reports whether the client hides the mail in this answer from its person, while a later event can show it.
func (e Event) Untold() bool { return e.protocol.tells != "" && e.protocol.tells != e.Name }

// CarriesMail reports whether the event's prompt is one of ours with which the client got mail that it does not show to its
// person.
func (e Event) CarriesMail() bool {
	return e.protocol.carries != "" && strings.HasPrefix(string(e.Prompt), e.protocol.carries)
}

// Watches reports whether the answer may name a file for the client to watch.
func (e Event) Watches() bool { return e.protocol.watch == e.Name }

// Changed reports whether the event means that such a file has changed.
func (e Event) Changed() bool { return e.protocol.change == e.Name }

// Inbound says how the client's person keeps other sessions from writing to it, "" if they do not.
func (e Event) Inbound(config string, getenv func(string) string) string {
	if e.protocol.inbound == nil {
		return ""
	}
	return e.protocol.inbound(config, getenv)
}

// Opened reports whether the event means that the client has opened the session.
func (e Event) Opened() bool { return e.protocol.opened == e.Name }

// Prompted reports whether the event means that the person writes in its conversation.
func (e Event) Prompted() bool { return e.protocol.prompted == e.Name }

// Within tells the event in which conversation of the process the person has written last, or "". In any other conversation
// a subagent may work.
func (e *Event) Within(conversation string) {
	if e.protocol.prompted != "" && (conversation == "" || e.Conversation != conversation) {
		e.AgentID = unknownAgent
	}
}

// AgentUnknown reports whether ResolveAgent still has to find the agent of the session in which the event happened. Until
// then the answer holds only what any agent may see.
func (e Event) AgentUnknown() bool { return e.agentUnknown }

// ResolveAgent finds the agent in which the event happened, in the client's configuration. It may wait until the client has
// written its logs, so callers use it only if there is mail.
func (e *Event) ResolveAgent(config string) {
	if e.agentUnknown {
		e.AgentID, e.agentUnknown = e.protocol.agent(*e, config), false
	}
}

// ShowsMail reports whether this event may hand over or announce mail. If the agent is unknown, it assumes the session's own.
func (e Event) ShowsMail() bool {
	if e.agentUnknown {
		e.AgentID = ""
	}
	return e.protocol.shows(e) != nothing
}

// TellsTrouble reports whether the answer may hold a sentence of ours without mail: only when the person has just written. At
// the end of a turn such a sentence would begin another turn.
func (e Event) TellsTrouble() bool {
	return (e.Name == "UserPromptSubmit" || e.Name == "BeforeAgent") && e.ShowsMail()
}

// Does returns what the session does according to this event, or "".
func (e Event) Does() string {
	if e.protocol.does == nil {
		return ""
	}
	return e.protocol.does(e)
}

// Often reports whether the event happens many times in a turn, so that it should announce each message only once.
func (e Event) Often() bool {
	return e.Name == "PostToolUse" || slices.Contains(e.protocol.often, e.Name)
}

// ByProcess reports whether the event lacks the session: then it is the session of the nearest ancestor process with one.
func (e Event) ByProcess() bool { return e.protocol.byProcess }

// OnError reports whether the client reads the answer from standard error, if the exit status is 2.
func (e Event) OnError() bool { return e.protocol.errors == e.Name }

// Limit returns the most that an answer to this event can show, in the client's units.
func (e Event) Limit() int { return e.protocol.limit }

// Pointer returns PointerPath for a client whose hooks run the script, else "".
func (e Event) Pointer(state string) string {
	if !e.protocol.script {
		return ""
	}
	return PointerPath(state, e.SessionID)
}
