// Package hooks speaks the clients' hook protocols: it reads the event that a
// client writes to a hook's standard input, and makes the answer that shows mail
// to the client's model. It embeds the hook script that install writes.
//
// Each client has a file with its name, for the things that only that client does.
//
// The package reads and writes no mailbox. Goroutines may call all its functions at once.
package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
)

// maxEvent bounds an event, in bytes. It is large because an event may contain a tool's output,
// which c2c ignores.
const maxEvent = 16 << 20

// protocol describes the hooks of one client.
type protocol struct {
	name   string                // the client's name; the client's file leaves it out
	limit  int                   // the length of the longest text that one answer can show
	length func(text string) int // the length of a text as the client counts it
	shows  func(e Event) content // which part of the waiting mail the answer may contain
	// encode makes the answer: c2c prints a string as it is, anything else as JSON. The argument
	// text is for the model. The argument person is for the client's person, and reaches the model
	// only if the client has no other way to show it.
	encode func(e Event, text, person string) any
	hides  func(e Event) bool // reports whether the client shows its person only encode's argument person; nil: it shows the whole answer
	errors string             // event whose answer must go to standard error, with exit status 2, and is not shown to its person at all; or empty
	// agent returns the id of the agent in which the event happened, "" for the session's own
	// agent. It reads the client's logs, and may wait for them. agent is nil if the event itself
	// names the agent.
	agent  func(e Event, config string) string
	watch  string // event whose answer may name a file for the client to watch; or empty
	change string // event that reports a change of that file; or empty
	// inbound explains how the person limits messages of other sessions; "": there is no limit.
	// Nil: the client has no such setting.
	inbound func(config string, getenv func(string) string) string
	opened  string // event that only reports which process has opened the session; or empty
	// answered returns when the session's model answered, zero if this event does not show it; nil:
	// no event shows it.
	answered func(e Event, config string, now time.Time) time.Time
	does     func(e Event) string // returns what the session does, a word of package client, or "" if this event does not show it; nil: no event shows it
	often    []string             // events that happen many times in a turn
	// note returns a sentence of c2c for the model, or ""; nil: there is never such a sentence.
	note func(e Event) string
	// dropped divides the client's record of the session, see Dropped; nil: c2c does not read the
	// record. passed is set if another turn has begun, and is in the record.
	dropped func(log string, answered time.Time, passed bool) (gone, left []byte)
	// unprompted means that a message of another session begins a turn without an event, so that
	// the record shows what was dropped before that turn only when the turn answers.
	unprompted bool
	// failed returns why the session's model gave no answer, or ""; nil: the event StopFailure
	// tells it.
	failed func(e Event) string
	// shown returns a function that reports whether the client's record of the session has a
	// message; nil: c2c does not read the record.
	shown func(e Event) func(mail.Message) bool
	// byProcess: events do not name the session. The event belongs to the session of the nearest
	// ancestor process that has one.
	byProcess      bool
	tellsPersonAt  string   // event whose answer can show the person mail that only the model has seen so far; or empty
	leavesMailAt   string   // event whose answer the client would show as an error, so a ringer brings the mail right after the event; or empty
	carryingPrefix string   // prefix of a prompt with which a ringer of c2c gave mail to the client; or empty
	prompted       string   // event that shows that the person writes in the event's conversation; or empty
	beforeTool     string   // event before a tool call: the client refuses the call if the answer says so; or empty
	editors        []string // tools that change the file named in their input; none if the answer to the event after the call cannot warn the model
	script         bool     // the hooks run the hook script, which reads the pointer of the session
}

// content is the part of the waiting mail that an answer to an event may contain.
type content int

const (
	nothing content = iota
	notice          // only the fact that mail waits, because the client would give a peer's words the authority of somebody else
	bodies          // the texts of messages
)

// protocols are the hooks of the clients that have some. This is no map, because a map costs more
// time at each start of c2c.
var protocols = make([]registered, 0, 12)

type registered struct {
	client   string
	protocol func() protocol
}

// register adds the hooks of a client. The file of a client calls it in init.
func register(client string, p func() protocol) {
	protocols = append(protocols, registered{client, p})
}

// Clients returns the names of the clients whose hooks c2c knows.
func Clients() (names []string) {
	for _, p := range client.All() {
		if p.Hooks {
			names = append(names, p.Name)
		}
	}
	return names
}

// protocolOf returns the hooks of a client; known is false if c2c knows none.
func protocolOf(client string) (p protocol, known bool) {
	i := slices.IndexFunc(protocols, func(r registered) bool { return r.client == client })
	if i < 0 {
		return p, false
	}
	p = protocols[i].protocol()
	p.name = client
	return p, true
}

// Event is the event that a client sends to a hook. Fields that a client leaves out are zero.
type Event struct {
	Name           string         `json:"hook_event_name"`
	SessionID      string         `json:"session_id"`
	AgentID        string         `json:"agent_id"`         // the id of a subagent; "" for the session's own agent
	Conversation   string         `json:"conversation_id"`  // one of several conversations in the session's process
	StopHookActive bool           `json:"stop_hook_active"` // a Stop hook has already continued the turn
	Prompt         prompt         `json:"prompt"`           // of UserPromptSubmit
	Notification   string         `json:"notification_type"`
	Cwd            any            `json:"cwd"`
	Transcript     string         `json:"transcript_path"` // the client's record of the session
	Tool           string         `json:"tool_name"`
	Input          tool           `json:"tool_input"`
	ToolFailed     failed         `json:"tool_response"`
	Status         any            `json:"status"`         // how a turn has ended; other clients may use this field for something else
	Loops          any            `json:"loop_count"`     // number of c2c's follow-ups in the turn
	Host           any            `json:"cursor_version"` // set by a client that also runs other clients' hooks
	Took           any            `json:"duration_ms"`    // how long a tool ran
	Error          any            `json:"error"`          // of StopFailure, like the next three fields
	ErrorType      any            `json:"error_type"`
	ErrorMessage   any            `json:"error_message"`
	ErrorDetails   any            `json:"error_details"`
	Asks           string         `json:"toolName"` // a tool for which the client wants a permission, with its server; see Allows
	Note           string         `json:"-"`        // a sentence of c2c for the model, to put into the answer
	ownNote        string         // the part of Note that the client's protocol has made
	Watch          string         `json:"-"` // a file that the answer asks the client to watch
	Now            time.Time      `json:"-"`
	Carried        []mail.Message `json:"-"` // mail that the client got with its prompt and does not show to its person; see CarriesMail

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

// failed reports whether a tool's response has an error. Each client writes errors in a form of its
// own.
type failed bool

func (f *failed) UnmarshalJSON(data []byte) error {
	var response struct{ Error any }
	*f = failed(json.Unmarshal(data, &response) == nil && response.Error != nil)
	return nil
}

// Parse reads one event of a client.
func Parse(client string, r io.Reader) (Event, error) {
	p, known := protocolOf(client)
	if !known {
		return Event{}, fmt.Errorf("client %q has no hooks that c2c knows: give one of %s", client, strings.Join(Clients(), ", "))
	}
	e := Event{protocol: p}
	err := json.NewDecoder(io.LimitReader(r, maxEvent)).Decode(&e)
	if err == nil && e.Name == "" && e.Asks == "" {
		err = errors.New("it has no hook_event_name")
	}
	if err != nil {
		return Event{}, fmt.Errorf("read hook event: %w", err)
	}
	if e.Host != nil && !e.protocol.byProcess {
		// The host has a hook of c2c of its own, and its sessions are not sessions of the client
		// for which this hook was installed.
		e.protocol = protocol{name: e.protocol.name, shows: func(Event) content { return nothing }}
	}
	if e.agentUnknown = e.protocol.agent != nil; e.agentUnknown {
		e.AgentID = unknownAgent
	}
	if e.protocol.note != nil {
		e.Note = e.protocol.note(e)
		e.ownNote = e.Note
	}
	return e, nil
}

// Holds returns a function that reports whether the client's model already has a message, because
// c2c has given the message to the client in another way. Holds returns nil if this event cannot
// show that.
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

// LeavesMail reports whether the hook should leave the mail to a ringer of the session, which
// brings the mail right after the event.
func (e Event) LeavesMail() bool { return e.protocol.leavesMailAt == e.Name }

// TellsLater reports whether the answer can tell the person about mail that earlier events (Untold)
// have shown only to the model. While the agent of the event is unknown, TellsLater assumes the
// session's own agent.
func (e Event) TellsLater() bool {
	return e.protocol.tellsPersonAt == e.Name && (e.AgentID == "" || e.agentUnknown)
}

// Untold reports whether the client hides the mail in this answer from its person. Then the answer
// to a later event has to show the mail to the person (TellsLater).
func (e Event) Untold() bool {
	return e.protocol.tellsPersonAt != "" && e.protocol.tellsPersonAt != e.Name
}

// CarriesMail reports whether the event's prompt comes from c2c and brought mail that the client
// does not show to its person.
func (e Event) CarriesMail() bool {
	return e.protocol.carryingPrefix != "" && strings.HasPrefix(string(e.Prompt), e.protocol.carryingPrefix)
}

// Watches reports whether the answer may name a file for the client to watch.
func (e Event) Watches() bool { return e.protocol.watch == e.Name }

// Changed reports whether the event reports a change of the watched file.
func (e Event) Changed() bool { return e.protocol.change == e.Name }

// Inbound explains how the client's person limits messages of other sessions; "": there is no
// limit.
func (e Event) Inbound(config string, getenv func(string) string) string {
	if e.protocol.inbound == nil {
		return ""
	}
	return e.protocol.inbound(config, getenv)
}

// Opened reports whether the event only reports that the client has opened the session.
func (e Event) Opened() bool { return e.protocol.opened == e.Name }

// Begins reports whether the event begins a conversation or a turn.
func (e Event) Begins() bool {
	return e.Name == "SessionStart" || e.Name == "BeforeAgent" || e.Name == "UserPromptSubmit" && e.Prompt != ""
}

// Prompted reports whether the event shows that the person writes in its conversation.
func (e Event) Prompted() bool { return e.protocol.prompted == e.Name }

// Within takes the conversation in which the person has written last; "": not known. If the event
// is not known to be from this conversation, the event's agent becomes unknown, because a subagent
// may work in another conversation.
func (e *Event) Within(conversation string) {
	if e.protocol.prompted != "" && (conversation == "" || e.Conversation != conversation) {
		e.AgentID = unknownAgent
	}
}

// AgentUnknown reports whether the agent of the event is still unknown, so that ResolveAgent has to
// find the agent. Until then the answer has only texts that any agent may see.
func (e Event) AgentUnknown() bool { return e.agentUnknown }

// ResolveAgent finds the agent in which the event happened, by the client's logs below config. It
// may wait until the client has written its logs, so callers should call it only if there is mail.
func (e *Event) ResolveAgent(config string) {
	if e.agentUnknown {
		e.AgentID, e.agentUnknown = e.protocol.agent(*e, config), false
	}
}

// ShowsMail reports whether the answer to this event may hand over or announce mail. While the
// agent of the event is unknown, ShowsMail assumes the session's own agent.
func (e Event) ShowsMail() bool {
	if e.agentUnknown {
		e.AgentID = ""
	}
	return e.protocol.shows(e) != nothing
}

// ShowsWords reports whether the answer to this event may have a peer's words. If not, it may only
// say that there are some.
func (e Event) ShowsWords() bool { return e.protocol.shows(e) == bodies }

// TellsTrouble reports whether the answer may consist of a sentence of c2c, without mail. This is
// so only when the person has just written, because at the end of a turn such a sentence would
// begin another turn.
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

// Often reports whether the event happens many times in a turn, so that each message should be
// announced only once.
func (e Event) Often() bool {
	return e.Name == "PostToolUse" || slices.Contains(e.protocol.often, e.Name)
}

// ByProcess reports whether events do not name the session. Then an event belongs to the session of
// the nearest ancestor process that has one.
func (e Event) ByProcess() bool { return e.protocol.byProcess }

// OnError reports whether the client reads the answer from standard error, with exit status 2.
func (e Event) OnError() bool { return e.protocol.errors == e.Name }

// Limit returns the length of the longest text that an answer to this event can show, in the
// client's units.
func (e Event) Limit() int { return e.protocol.limit }

// DropOwnNote removes the part of Note that the client's protocol has made, and keeps what was
// added to it.
func (e *Event) DropOwnNote() {
	e.Note = strings.TrimPrefix(strings.TrimPrefix(e.Note, e.ownNote), "\n")
}
