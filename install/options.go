package install

// Options says whose configuration c2c edits, and what it writes there. All paths are absolute.
type Options struct {
	Home         string
	Getenv       func(string) string // looks up the clients' variables and PATH
	Project      string              // the person's current directory
	InProject    bool                // set the client up only for this project, instead of for all projects
	Ask          bool                // leave out the rule that lets the model call c2c's tools without asking
	SharedPlugin bool                // with InProject: put the plugin into the files for all projects
	Binary       string              // the c2c to put into configurations
	HookScript   []byte              // content of c2c-inbox-check.sh
	StateDir     string              // the directory of the undo records
	HTTP         *HTTP               // the daemon that serves the tools over HTTP; nil: the client starts an MCP server itself
}

// HTTP has the values of the HTTP daemon (c2c serve) that a client's configuration needs.
type HTTP struct {
	URL, Token string
	Runs       bool // the daemon answers, and accepts the token
}
