package sessions

import (
	"context"
	"errors"
	"fmt"
)

// AliasTakenError says that another session has the alias, and that the other session is alive, or may be.
type AliasTakenError struct {
	Alias     string // in its holder's spelling
	Suggested string // free at this moment
}

func (e *AliasTakenError) Error() string {
	return fmt.Sprintf("alias %q belongs to another session; %q is free", e.Alias, e.Suggested)
}

// CheckFree returns an *AliasTakenError if a new session of the client cannot have the alias. left is the session with the alias if
// its client lives but no window shows it; nil: there is none. away asks the client whether a session has no window; c2c itself learns
// this only by a ring.
func CheckFree(ctx context.Context, reg *Registry, alias, clientName string, away func(Session) bool) (left *Session, err error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range Holders(rows, alias) {
		s := reg.Session(r)
		if s.State == Absent {
			continue
		}
		l, err := reg.Look(s)
		if err != nil || s.Client != clientName || l.Now.Does != Away && !away(s) {
			return nil, errors.Join(&AliasTakenError{Alias: s.Alias, Suggested: FreeAlias(rows, alias)}, err)
		}
		left = &s
	}
	return left, nil
}
