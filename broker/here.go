package broker

import "c2c/project"

// OpenHere opens the root of the repository around cwd, and makes it when there is none. Of cfg only the clock and the log are used.
func OpenHere(getenv func(string) string, cwd string, cfg Config) (*Broker, error) {
	p, err := project.Find(getenv, cwd)
	for err == nil && p.Record() { // somebody else has just made a link: it is seen now
		p, err = project.Find(getenv, cwd)
	}
	if err != nil {
		return nil, err
	}
	set := ConfigOf(getenv, p.Path, nil)
	set.Log, set.Now = cfg.Log, cfg.Now
	return Open(set)
}
