package wake

import (
	"context"

	"c2c/inbox"
)

// Names of methods, as a status shows them.
const (
	BySocket = "socket" // Claude Code's messaging socket
	ByServer = "server" // Codex's app-server
)

// Notice is what a doorbell may tell: that mail waits, how much and from whom, never what it says.
type Notice struct {
	Count  int
	From   []string // aliases, each once, at most a few
	Oldest string   // id of the oldest message that waits
}

// A Doorbell makes an idle client look at its mail.
type Doorbell interface {
	// Ring returns nil when the client has taken the ring, which does not prove that anybody looked. An
	// error that wraps ErrUncaptured says that the client was there and could not take it now.
	Ring(ctx context.Context, n Notice) error
}

// A Courier puts the messages themselves in front of an idle client.
type Courier interface {
	// Carry hands over messages, oldest first. It may take only the first ones. It returns the ids of
	// those that the client provably has, when it has them or when ctx ends; the others are offered again.
	Carry(ctx context.Context, msgs []inbox.Message) (had []string, err error)
}
