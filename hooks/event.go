// Package hooks speaks the clients' hook protocols: it reads the event that a
// client writes to a hook's standard input and makes the answer that puts mail
// in front of its model. It holds the hook script that install puts in place.
//
// What only one client does stands in the file with its name.
//
// Nothing here touches a mailbox, and everything may be called at once.
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

// maxEvent bounds an event: tool output may be large, and is not read.
const maxEvent = 16 << 20

// protocol is how the hooks of one client speak.
type protocol struct {
	name   string
	limit  int                   // the most that one answer shows, in units of length
	length func(text string) int // as the client counts it
	shows  func(e Event) content
	// encode makes the answer: a string as it is, anything else as JSON. person is shown to the client's person alone.
	encode func(e Event, text, person string) any
	hides  func(e Event) bool // the client shows its person nothing of the answer's text, but person; nil: it does
	secret string             // event of whose answer the client shows its person nothing at all, or empty
	errors string             // event that is answered on standard error, with status 2, or empty
	// agent finds out in which agent of the session it happened, "" in the session's own; nil: the event says. It reads the
	// client's logs, and may wait for them.
	agent  func(e Event, config string) string
	watch  string // event whose answer may name a file to watch, or empty
	change string // event that tells of a change to that file, or empty
	// inbound says how its person keeps others from writing to it, "" when they do not; nil: the client has no such setting.
	inbound func(config string, getenv func(string) string) string
	opened  string // event that tells which process has opened the session, and no more; or empty
	// answered is when the session's model has answered, by an event; zero: it tells nothing of that. nil: no event does.
	answered func(e Event, config string, now time.Time) time.Time
	does     func(e Event) string // what the event says that the session does, a word of client or ""; nil: nothing
	often    []string             // events that come many times in a turn
	// note is a sentence of ours for the model, or empty; nil: there is none.
	note func(e Event) string
	// dropped says which messages the client's own record of the session had, and has no more; nil: it drops none.
	dropped func(e Event) func(mail.Message) bool
	// shown says which messages the client's own record of the session has; nil: the record is not read.
	shown func(e Event) func(mail.Message) bool
	// byProcess says that its events do not tell the session: it is that of the nearest process above with one.
	byProcess bool
	tells     string // event that tells the person of what the model was given before, and nothing showed; or empty
	rung      string // event whose answer would be shown as an error: a ringer of ours comes right behind it, or empty
	carries   string // how a prompt begins that a ringer of ours has made, and beside which the client has mail; or empty
	prompted  string // event that tells in which conversation of the process its person writes, or empty
	script    bool   // its hooks run the script, which looks for the pointer
}

// content is what an answer to an event may hold.
type content int

const (
	nothing content = iota
	notice          // only that mail waits: the words of a peer would count as those of somebody else
	bodies
)

// protocols has one line for each client.
func protocols() []protocol {
	return []protocol{claude(), codex(), copilot(), qwen(), kimi(), gemini(), cursor()}
}

// Clients names the clients whose hooks are known.
func Clients() (names []string) {
	for _, p := range protocols() {
		names = append(names, p.name)
	}
	return names
}

// Event is what a client tells a hook. Fields that a client leaves out are zero.
type Event struct {
	Name           string         `json:"hook_event_name"`
	SessionID      string         `json:"session_id"`
	AgentID        string         `json:"agent_id"`        // set in a subagent
	Conversation   string         `json:"conversation_id"` // of several in the session's process
	StopHookActive bool           `json:"stop_hook_active"`
	Prompt         prompt         `json:"prompt"` // of UserPromptSubmit
	Notification   string         `json:"notification_type"`
	Transcript     string         `json:"transcript_path"` // the client's record of the session
	Tool           string         `json:"tool_name"`
	Input          tool           `json:"tool_input"`
	ToolFailed     failed         `json:"tool_response"`
	Status         any            `json:"status"`         // how a turn has ended; other clients may mean something else
	Loops          any            `json:"loop_count"`     // follow-ups of ours in it
	Host           any            `json:"cursor_version"` // set by a client that runs the hooks of others, too
	Took           any            `json:"duration_ms"`    // how long a tool ran
	Error          any            `json:"error"`          // of StopFailure, as what follows
	ErrorType      any            `json:"error_type"`
	ErrorMessage   any            `json:"error_message"`
	ErrorDetails   any            `json:"error_details"`
	Note           string         `json:"-"` // a sentence of ours that the answer holds
	Watch          string         `json:"-"` // a file that the answer asks the client to watch
	Now            time.Time      `json:"-"`
	Carried        []mail.Message `json:"-"` // what the client has another way, and shows nothing of; see CarriesMail

	protocol     protocol
	agentUnknown bool // see AgentUnknown
}

// unknownAgent is the AgentID of an event that may have happened in any agent of the session.
const unknownAgent = "unknown"

// A prompt is its text. Some clients give it in parts.
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

// failed says whether a tool's response tells of an error. It has another form in each client.
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
		// It has a hook of its own for c2c, and its sessions are none of the other client's.
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

// Holds gives a function that says whether the client has a message that was carried to it another way: then its
// model has it. Nil: this event cannot tell.
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

// Dropped gives a function that says whether the client has dropped a message that it was given, with a request that failed or
// was stopped. Nil: this event cannot tell.
func (e Event) Dropped() func(mail.Message) bool {
	if e.protocol.dropped == nil || e.Name != "BeforeAgent" && e.Name != "AfterAgent" {
		return nil
	}
	return e.protocol.dropped(e)
}

// LeavesMail says that the mail is better left to a ringer of the session, which brings it when the event is over.
func (e Event) LeavesMail() bool { return e.protocol.rung == e.Name }

// TellsLater says that the answer can tell the person of mail that Untold events have shown to the model alone, in the
// session's own agent if the agent is still unknown.
func (e Event) TellsLater() bool {
	return e.protocol.tells == e.Name && (e.AgentID == "" || e.agentUnknown)
}

// Untold says that its client shows its person nothing of the mail in the answer, and that a later event can.
func (e Event) Untold() bool { return e.protocol.tells != "" && e.protocol.tells != e.Name }

// CarriesMail says that the event's prompt is one of ours, and that the client has mail beside it that it does not show to
// its person.
func (e Event) CarriesMail() bool {
	return e.protocol.carries != "" && strings.HasPrefix(string(e.Prompt), e.protocol.carries)
}

// Watches says whether the answer may name a file that the client is to watch.
func (e Event) Watches() bool { return e.protocol.watch == e.Name }

// Changed says whether the client tells that such a file has changed.
func (e Event) Changed() bool { return e.protocol.change == e.Name }

// Inbound says how the client's person keeps other sessions from writing to it, "" when they do not.
func (e Event) Inbound(config string, getenv func(string) string) string {
	if e.protocol.inbound == nil {
		return ""
	}
	return e.protocol.inbound(config, getenv)
}

// Opened says whether the client tells that it has opened the session.
func (e Event) Opened() bool { return e.protocol.opened == e.Name }

// Prompted says whether the client tells that its person writes in the event's conversation.
func (e Event) Prompted() bool { return e.protocol.prompted == e.Name }

// Within tells it the conversation of the process in which its person has written last, or "". In any other one a subagent
// may work.
func (e *Event) Within(conversation string) {
	if e.protocol.prompted != "" && (conversation == "" || e.Conversation != conversation) {
		e.AgentID = unknownAgent
	}
}

// AgentUnknown reports that ResolveAgent has not yet found in which agent of the session the event happened. Until then the
// answer holds what any of them may have.
func (e Event) AgentUnknown() bool { return e.agentUnknown }

// ResolveAgent finds the agent in which the event happened, in the configuration of the client. It may wait for the client to write its logs, so it is for when
// there is mail.
func (e *Event) ResolveAgent(config string) {
	if e.agentUnknown {
		e.AgentID, e.agentUnknown = e.protocol.agent(*e, config), false
	}
}

// ShowsMail says whether mail may be handed over or announced with this event, in the session's own agent if the agent is still unknown.
func (e Event) ShowsMail() bool {
	if e.agentUnknown {
		e.AgentID = ""
	}
	return e.protocol.shows(e) != nothing
}

// TellsTrouble says whether the answer may hold a sentence of ours without mail: where its person has just written. At the end
// of a turn it would begin another one.
func (e Event) TellsTrouble() bool {
	return (e.Name == "UserPromptSubmit" || e.Name == "BeforeAgent") && e.ShowsMail()
}

// Does is what the session does by this event, or "" when it does not tell.
func (e Event) Does() string {
	if e.protocol.does == nil {
		return ""
	}
	return e.protocol.does(e)
}

// Often says that the event comes many times in a turn, so that a message is announced once.
func (e Event) Often() bool {
	return e.Name == "PostToolUse" || slices.Contains(e.protocol.often, e.Name)
}

// ByProcess says that the event does not tell the session: it is that of the nearest process above with one.
func (e Event) ByProcess() bool { return e.protocol.byProcess }

// OnError says whether the client reads the answer from standard error, if the exit status is 2.
func (e Event) OnError() bool { return e.protocol.errors == e.Name }

// Limit is the most that an answer to this event shows.
func (e Event) Limit() int { return e.protocol.limit }

// Pointer is PointerPath for a client whose hooks run the script, else "".
func (e Event) Pointer(state string) string {
	if !e.protocol.script {
		return ""
	}
	return PointerPath(state, e.SessionID)
}
