package broker

import "c2c/project"

// OpenHere opens the root of the repository to which the directory cwd belongs, and makes the root if it is missing. Of cfg it uses only
// the clock and the log.
func OpenHere(getenv func(string) string, cwd string, cfg Config) (*Broker, error) {
	p, err := project.Find(getenv, cwd)
	for err == nil && p.Record() { // another process has just made a link that names a root: find that root
		p, err = project.Find(getenv, cwd)
	}
	if err != nil {
		return nil, err
	}
	set := ConfigOf(getenv, p.Path, nil)
	set.Log, set.Now = cfg.Log, cfg.Now
	b, err := Open(set)
	if err == nil {
		p.TellRelay()
	}
	return b, err
}
