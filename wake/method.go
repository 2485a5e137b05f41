package wake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"c2c/inbox/mail"
)

// The names of methods that a status shows.
const (
	BySocket  = "socket"  // Claude Code's messaging socket
	ByChannel = "channel" // Claude Code's channel notifications
	ByServer  = "server"  // Codex's app-server, or the server of kimi web
	ByQueue   = "queue"   // Codex's own queue
	// ByFile is Claude Code's own file watch, for a session that has lost its server.
	ByFile = "filechanged"
	// ByTerminal is a line typed into the client's prompt, the last resort.
	ByTerminal = "terminal"
	ByPlugin   = "plugin" // a plugin of ours inside the client
	ByWire     = "wire"   // an agent that c2c has started
	ByStream   = "sse"    // a stream of events that a client of the HTTP daemon has open, or a subscription of MCP 2026-07-28
)

// Notice is what a doorbell may reveal: that mail waits, how much and from whom, but never its content.
type Notice struct {
	Count  int
	From   []string // aliases, each once, at most a few
	Oldest string   // id of the oldest message that waits
	Joins  bool     // a turn runs, and the ring should join it: see Method
	NoTool bool     // c2c has seen no tool of c2c in the client
	RingID string   // identifies this ring in all records; "" if c2c does not record each ring
}

// NoticeOf returns the notice for messages.
func NoticeOf(msgs []mail.Message) Notice {
	n := Notice{Count: len(msgs), Oldest: msgs[0].ID}
	for _, m := range msgs {
		if from := m.Sender(); len(n.From) < maxNamed && from != "" && !slices.Contains(n.From, from) {
			n.From = append(n.From, from)
		}
	}
	return n
}

// maxNamed bounds the senders that a notice names.
const maxNamed = 5

// Senders lists the senders with commas, but only valid aliases: any other text could act as a key or a tag in the client.
func (n Notice) Senders() string {
	names := slices.DeleteFunc(slices.Clone(n.From), func(name string) bool { return mail.CheckAlias(name) != nil })
	return strings.Join(names, ",")
}

// Poll is the instruction for a model that has c2c's tools. Each client writes the name of a tool in another way.
const Poll = "call the c2c tool poll_inbox"

// What returns the instruction. A client without c2c's setup, or in a folder that is not trusted, has no such tool.
func (n Notice) What() string {
	if n.NoTool {
		return Poll + "; without it run: c2c poll-inbox"
	}
	return Poll
}

// Text returns the notice as a client's model sees it, in ASCII; how is the instruction. It has less than a
// kilobyte: a terminal that no program reads keeps only four kilobytes.
func (n Notice) Text(how string) string {
	return fmt.Sprintf("<c2c event=\"message_pending\" count=\"%d\" from=\"%s\">%s</c2c>", n.Count, n.Senders(), how)
}

// A Doorbell makes an idle client look at its mail.
type Doorbell interface {
	// Ring returns nil if the client has taken the ring, which does not prove that its model has seen it. An
	// error that wraps ErrUncaptured means that the client was there and could not take the ring now.
	Ring(ctx context.Context, n Notice) error
}

// A Carrier puts the messages themselves in front of an idle client.
type Carrier interface {
	// Carry hands over messages, oldest first; it may take only the first ones. It returns, at the latest when
	// ctx ends, the handles of the messages that the client provably has; the caller offers the others again.
	// No handle and no error means that it could carry nothing, and has rung instead.
	Carry(ctx context.Context, msgs []mail.Message) (had []string, err error)
}

// Method is one way to reach a client. Each part may be nil.
type Method struct {
	Name     string // the reader's name in the archive
	Carrier  Carrier
	Doorbell Doorbell
	// Ready fails, as the carrier would, while the client can take nothing. Callers call it before they
	// lease messages, because other readers do not see leased messages.
	Ready func(context.Context) error
	// Idempotent: the client knows which messages it got, so a ringer may carry the same messages again.
	Idempotent bool
	// Joins: the doorbell can put a ring into the running turn, so that a busy session need not wait for its hooks.
	Joins bool
	// Unproven: the client may miss the ring, and nothing shows that. If the first ring has no effect, a ringer
	// changes to another method, if there is one.
	Unproven bool
}
