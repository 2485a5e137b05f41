package sessions

// Glance returns a copy of reg that answers one question. The copy reads each file of facts once,
// and checks each process and each lock once, so it does not see later changes. Callers must not
// keep it, and must not change anything through it.
func (reg *Registry) Glance() *Registry {
	g := *reg
	g.lastAuthors = new(lastAuthors) // the cached Authors refer to reg
	g.Locks, g.Facts, g.Processes = reg.Locks.Glance(), reg.Facts.Glance(), FindOnce(reg.Processes)
	return &g
}
