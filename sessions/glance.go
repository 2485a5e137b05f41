package sessions

import (
	"c2c/sessions/processes"
)

// Glance is reg for the time of one question: it reads each file of facts once, and looks at each process and each lock once.
// Callers must not change anything through it, and must not keep it: it does not see later changes.
func (reg *Registry) Glance() *Registry {
	g := *reg
	g.lastAuthors = new(lastAuthors) // they remember reg
	g.Locks, g.Facts, g.Processes = reg.Locks.Glance(), reg.Facts.Glance(), processes.FindOnce(reg.Processes)
	return &g
}
