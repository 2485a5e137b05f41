package broker

import (
	"context"

	"c2c/broker/moves"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// Attach finds the caller's session, or makes a new one, and records the client's id and process
// for it. A session that was removed by a sweep gets back its mailbox, its dead letters, and also
// its alias if no other session has the alias now.
func (b *Broker) Attach(ctx context.Context, c callers.Caller) (sessions.Session, error) {
	c = c.Looked()
	if s, ok := callers.Attached(b.Registry, c); ok {
		return s, nil
	}
	return b.arrive(ctx, c, "")
}

// Register is an Attach that also gives the session an alias; with "" the session keeps its present
// alias. If an absent session has the alias, its mail moves to the caller's session, too. If the
// session with the alias is or may be alive, the error is an *AliasTakenError.
func (b *Broker) Register(ctx context.Context, c callers.Caller, alias string) (sessions.Session, error) {
	if alias != "" {
		if err := sessions.CheckAlias(alias); err != nil {
			return sessions.Session{}, err
		}
	}
	return b.arrive(ctx, c.Looked(), alias)
}

func (b *Broker) arrive(ctx context.Context, c callers.Caller, alias string) (sessions.Session, error) {
	own, due, err := callers.Arrive(ctx, b.Registry, c, alias)
	if err != nil {
		return sessions.Session{}, err
	}
	moves.Finish(ctx, b.Registry, due, own)
	s := b.Session(own)
	moves.FinishLeft(ctx, b.Registry, s)
	if rows, err := b.Rows(ctx); err == nil {
		s.KnownBy = callers.KnownBy(b.Registry, rows, s, c)
	}
	return s, nil
}
