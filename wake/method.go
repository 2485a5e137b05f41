package wake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"c2c/inbox/mail"
)

// The names of methods, as a status shows them. Each has a row in methods.
const (
	BySocket  = "socket"  // the client's socket for messages of other sessions
	ByChannel = "channel" // Claude Code's channel notifications
	ByServer  = "server"  // Codex's app-server, or the server of kimi web
	ByQueue   = "queue"   // Codex's own queue
	// ByFile is Claude Code's own watch of a file, for a session that has lost its MCP server.
	ByFile = "filechanged"
	// ByTerminal is a line typed into the client's prompt, the last resort.
	ByTerminal = "terminal"
	ByPlugin   = "plugin" // a plugin of ours inside the client
	ByWire     = "wire"   // an agent that c2c has started
	ByStream   = "sse"    // a stream of events that a client of the HTTP daemon has open, or a subscription of MCP 2026-07-28
)

// methods says what the rest of c2c has to know of each method.
var methods = [...]About{
	{Name: BySocket, Words: "its messaging socket", InPrompt: true, Busy: "it is rung again; if this stays, c2c doctor checks its hooks"},
	{Name: ByChannel, Words: "its channel", InPrompt: true, Failed: "a channel needs a client started with c2c start --channel {client}; its next prompt brings the mail"},
	{Name: ByServer, Words: "its app-server", Follows: true, FromDaemon: true},
	{Name: ByQueue, Words: "its queue", FromDaemon: true},
	{Name: ByFile, Words: "its file watcher"},
	{Name: ByTerminal, Words: "its terminal", Typed: true},
	{Name: ByPlugin, Words: "its plugin", Follows: true},
	{Name: ByWire, Words: "its wire daemon", Failed: "it is tried again; c2c wire-daemon status --alias {alias} tells more"},
	{Name: ByStream, Words: "its event stream", Ignored: "its client may ignore that: its next call of a tool brings the message"},
}

// About says what the rest of c2c has to know of a method.
type About struct {
	Name  string
	Words string // how the method is called in c2c status
	// Typed: the text is typed, so a ring that works does not show that another process rings the
	// session.
	Typed bool
	// InPrompt: mail that the method carries begins a prompt, and the client's hook sees it there.
	InPrompt bool
	// Follows: whoever rings by the method also reports what the session does.
	Follows bool
	// FromDaemon: the wake daemon can ring by the method, without a server of ours in the client.
	FromDaemon bool
	// What a person should know: whatever the last ring came to; after a ring that nobody has read;
	// after a ring for which the client had no time. "": nothing that is special to the method.
	Failed, Ignored, Busy string
}

// AboutMethod returns the row of a method. For an unknown name, the row has only the name.
func AboutMethod(name string) About {
	for _, m := range methods {
		if m.Name == name {
			return m
		}
	}
	return About{Name: name}
}

// MethodsInPrompt returns the names of the methods with InPrompt.
func MethodsInPrompt() (names []string) {
	for _, m := range methods {
		if m.InPrompt {
			names = append(names, m.Name)
		}
	}
	return names
}

// Notice holds what the text of a ring may say: that mail waits, how much, and from whom. A
// doorbell tells the client nothing else, and never the content of a message.
type Notice struct {
	Count  int
	From   []string // aliases, each once, at most maxNamed
	Oldest string   // id of the oldest message that waits
	Joins  bool     // a turn runs, and the ring should join it: see Method.Joins
	NoTool bool     // the client seems to have no tools of c2c
	RingID string   // identifies this ring in all records; "" if c2c does not record each ring
	// Waits reports whether the oldest message still waits; see IsRead. Nil: it still waits.
	Waits func() bool
}

// IsRead reports whether the oldest message does not wait any more. A doorbell that has waited for
// its client asks this, and then returns ErrRead. It asks before it looks at the client's prompt,
// because the answer takes time if the mailbox is locked.
func (n Notice) IsRead() bool { return n.Waits != nil && !n.Waits() }

// NoticeOf returns the notice for msgs, which must not be empty. The oldest message comes first.
func NoticeOf(msgs []mail.Message) Notice {
	n := Notice{Count: len(msgs), Oldest: msgs[0].ID}
	for _, m := range msgs {
		if from := m.Sender(); len(n.From) < maxNamed && from != "" && !slices.Contains(n.From, from) {
			n.From = append(n.From, from)
		}
	}
	return n
}

// maxNamed is the largest number of senders in a notice.
const maxNamed = 5

// Senders returns the names of the senders with commas between them. It leaves out a name that is
// no valid alias, because such a name could act as a key or a tag in the client.
func (n Notice) Senders() string {
	names := slices.DeleteFunc(slices.Clone(n.From), func(name string) bool { return mail.CheckAlias(name) != nil })
	return strings.Join(names, ",")
}

// Poll tells a model that has c2c's tools what to do. It uses only the last part of the tool's
// name, because each client has its own form of the whole name.
const Poll = "call the c2c tool poll_inbox"

// What returns the instruction for the model. A client without c2c's setup, or in a folder that is
// not trusted, has no tool poll_inbox. Then the instruction also names the command.
func (n Notice) What() string {
	if n.NoTool {
		return Poll + "; without it run: c2c poll-inbox"
	}
	return Poll
}

// Text returns the notice as a client's model sees it, in ASCII. The argument how is the
// instruction to the model, such as Poll. The text has less than a kilobyte, because the kernel
// keeps only four kilobytes for a terminal that no program reads.
func (n Notice) Text(how string) string {
	return fmt.Sprintf("<c2c event=\"message_pending\" count=\"%d\" from=\"%s\">%s</c2c>", n.Count, n.Senders(), how)
}

// A Doorbell makes an idle client look at its mail.
type Doorbell interface {
	// Ring returns nil if the client has taken the ring. This does not prove that the client's
	// model has seen the ring. An error that wraps ErrUncaptured means that the client runs, but
	// could not take the ring now.
	Ring(ctx context.Context, n Notice) error
}

// A Carrier hands the messages themselves to an idle client.
type Carrier interface {
	// Carry hands over msgs in this order, the oldest first, but perhaps only the first few. It
	// returns Message.Handle of each message that the client provably has. It returns at the latest
	// when ctx ends. The caller offers the other messages again. If Carry returns neither a handle
	// nor an error, it could carry nothing and has rung instead.
	Carry(ctx context.Context, msgs []mail.Message) (had []string, err error)
}

// Method is one way to reach a client. Carrier, Doorbell and Ready may be nil.
type Method struct {
	Name     string // this name also stands in the archive, as the reader of the messages
	Carrier  Carrier
	Doorbell Doorbell
	// If the client can take nothing now, Ready returns the error that the carrier would return.
	// Callers call Ready before they lease messages, because a lease hides the messages from all
	// other readers.
	Ready func(context.Context) error
	// Idempotent: the client recognizes messages that it already got, so a ringer may carry them
	// again.
	Idempotent bool
	// Joins: the doorbell can put a ring into the running turn. So a ringer need not wait for the
	// hooks of a busy session.
	Joins bool
	// Unproven: the client may miss the ring, and nothing shows it. If the first ring has no effect
	// and the session has another method, a ringer changes to that method.
	Unproven bool
}
