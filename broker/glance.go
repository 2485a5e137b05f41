package broker

// glance is b for one question of who is who: it reads each file of facts once, and looks at each process and each lock
// once. Nothing may be changed through it, and callers must not keep it: what it has read stays as it was.
func (b *Broker) glance() *Broker {
	g := *b
	g.lastAuthors = new(lastAuthors) // they remember b
	g.locks, g.read, g.proc = map[string]bool{}, map[string]facts{}, glancedProcesses{b.proc, map[int]glancedProcess{}}
	return &g
}

// glancedProcesses are processes that were looked at once.
type glancedProcesses struct {
	processes
	found map[int]glancedProcess
}

type glancedProcess struct {
	process
	err error
}

func (g glancedProcesses) find(pid int) (process, error) {
	p, looked := g.found[pid]
	if !looked {
		p.process, p.err = g.processes.find(pid)
		g.found[pid] = p
	}
	return p.process, p.err
}
