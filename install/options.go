package install

// Options says whose configuration is edited and what is put there. All paths
// are absolute.
type Options struct {
	Home         string
	Getenv       func(string) string // the clients' variables and PATH are asked for
	Project      string              // directory in which its person is
	InProject    bool                // set the client up for this project alone, and not for all
	Ask          bool                // leave out the rule by which its model calls c2c's tools without asking
	SharedPlugin bool                // with InProject: the plugin is for all projects all the same
	Binary       string              // the c2c to put into configurations
	HookScript   []byte              // content of c2c-inbox-check.sh
	StateDir     string              // where undo records are kept
	HTTP         *HTTP               // the daemon through which a client is to have the tools; nil: it starts a server itself
}

// HTTP is the daemon of c2c serve, as a client's configuration names it.
type HTTP struct {
	URL, Token string
	Runs       bool // it answers, and takes the token
}
