package sessions

// Glance is reg for the time of one question: it reads each file of facts once, and looks at each process and each lock once.
// Callers must not change anything through it, and must not keep it: it does not see later changes.
func (reg *Registry) Glance() *Registry {
	g := *reg
	g.lastAuthors = new(lastAuthors) // they remember reg
	g.Locks, g.Facts, g.Processes = reg.Locks.Glance(), reg.Facts.Glance(), glancedProcesses{reg.Processes, map[int]glancedProcess{}}
	return &g
}

// glancedProcesses are processes that were looked at once.
type glancedProcesses struct {
	ProcessTable
	found map[int]glancedProcess
}

type glancedProcess struct {
	Process
	err error
}

func (g glancedProcesses) Find(pid int) (Process, error) {
	p, looked := g.found[pid]
	if !looked {
		p.Process, p.err = g.ProcessTable.Find(pid)
		g.found[pid] = p
	}
	return p.Process, p.err
}
