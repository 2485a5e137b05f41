package sessions

import (
	"context"
	"errors"
	"fmt"
)

// AliasTakenError says that another session has the alias, and is alive or may be alive.
type AliasTakenError struct {
	Alias     string // in the spelling of the session that has it
	Suggested string // free at this moment
	Process   int    // the process of that session; 0: not known
}

func (e *AliasTakenError) Error() string {
	return fmt.Sprintf("alias %q belongs to another session; %q is free", e.Alias, e.Suggested)
}

// CheckFree returns an *AliasTakenError if a new session of the client cannot have the alias. The
// result left is the session that has the alias, if its client lives but no window shows it;
// otherwise nil. The function away asks the client whether a session has no window, because c2c
// itself learns this only by a ring.
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
