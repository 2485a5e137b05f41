package wake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"c2c/inbox/mail"
)

// Names of methods, as a status shows them.
const (
	BySocket  = "socket"  // Claude Code's messaging socket
	ByChannel = "channel" // Claude Code's channel notifications
	ByServer  = "server"  // Codex's app-server, or the server of kimi web
	ByQueue   = "queue"   // Codex's own queue
	// ByFile is Claude Code's own watch of a file, for a session that has lost its server.
	ByFile = "filechanged"
	// ByTerminal is typed into the client's prompt, the last resort.
	ByTerminal = "terminal"
	ByPlugin   = "plugin" // a plugin of ours inside the client
	ByWire     = "wire"   // an agent that c2c has started
	ByStream   = "sse"    // a stream of events: one that a client of the HTTP daemon has open, or a subscription of MCP 2026-07-28
)

// Notice is what a doorbell may tell: that mail waits, how much and from whom, never what it says.
type Notice struct {
	Count  int
	From   []string // aliases, each once, at most a few
	Oldest string   // id of the oldest message that waits
	Joins  bool     // a turn runs, and the ring is to join it: see Method
	NoTool bool     // no tool of c2c was seen in the client
	RingID string   // names this ring wherever it is recorded; "" where nobody records each
}

// NoticeOf sums messages up.
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

// Senders are those that a client may be told of, with commas: what is no alias could be a key or a tag there.
func (n Notice) Senders() string {
	names := slices.DeleteFunc(slices.Clone(n.From), func(name string) bool { return mail.CheckAlias(name) != nil })
	return strings.Join(names, ",")
}

// Poll is what a notice says to a model that has c2c's tools. Each client has another way to write the name of a tool.
const Poll = "call the c2c tool poll_inbox"

// What says what to do: a client that c2c is not set up in, or whose folder is not trusted, has no such tool.
func (n Notice) What() string {
	if n.NoTool {
		return Poll + "; without it run: c2c poll-inbox"
	}
	return Poll
}

// Text is the notice as a client's model sees it, in ASCII; how says what to do. It has less than a
// kilobyte: a terminal that nobody reads loses what is behind four.
func (n Notice) Text(how string) string {
	return fmt.Sprintf("<c2c event=\"message_pending\" count=\"%d\" from=\"%s\">%s</c2c>", n.Count, n.Senders(), how)
}

// A Doorbell makes an idle client look at its mail.
type Doorbell interface {
	// Ring returns nil when the client has taken the ring, which does not prove that anybody looked. An
	// error that wraps ErrUncaptured says that the client was there and could not take it now.
	Ring(ctx context.Context, n Notice) error
}

// A Carrier puts the messages themselves in front of an idle client.
type Carrier interface {
	// Carry hands over messages, oldest first. It may take only the first ones. It returns the handles of
	// those that the client provably has, when it has them or when ctx ends; the others are offered again.
	// None and no error: it has rung instead, as nothing could be carried.
	Carry(ctx context.Context, msgs []mail.Message) (had []string, err error)
}

// Method is one way to reach a client. Each part may be nil.
type Method struct {
	Name     string // it names the reader in the archive
	Carrier  Carrier
	Doorbell Doorbell
	// Ready fails, as the carrier would, while the client cannot be given anything. It is asked before
	// messages are leased: what is leased counts as handed over for that moment.
	Ready func(context.Context) error
	// Idempotent: the client knows what it was given, so the same messages may be carried again.
	Idempotent bool
	// Joins: the doorbell can put a ring into the turn that runs, so that a busy session need not be left to its hooks.
	Joins bool
	// Unproven: the client may not hear it, and nothing tells. The first ring in vain is its last, if
	// there is another method.
	Unproven bool
}
