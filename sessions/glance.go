package sessions

import (
	"c2c/sessions/processes"
)

// Glance returns a copy of reg to answer one question with: it reads each file of facts once, and looks at each process and each
// lock once. Callers must not change anything through it, and must not keep it: it does not see later changes.
func (reg *Registry) Glance() *Registry {
	g := *reg
	g.lastAuthors = new(lastAuthors) // the cached ones refer to reg
	g.Locks, g.Facts, g.Processes = reg.Locks.Glance(), reg.Facts.Glance(), processes.FindOnce(reg.Processes)
	return &g
}
