package cli

// The verbs of the daemon that listens for HTTP on this machine.

var face = []Verb{
	{Name: "serve", C2cd: true, Args: "[verb]", First: "start stop restart status rotate-token", Short: "the daemon for clients that speak HTTP",
		Long: `Listens on 127.0.0.1 and ::1, and nowhere else, for programs of this user that
show the token. Nothing else of c2c needs it. One daemon serves all projects: a
client says in the header X-C2C-Project in which directory it works, or the
directory of its process counts, or the one in which start was run.

  start, stop, restart   the daemon of this user
  status                 whether it runs and answers, and where
  rotate-token           make a new token; the old one is worth nothing then

The port is --port, C2C_HTTP_PORT, that of the last time, or 8788. Clients keep
the URL, so a port that is taken is an error; 0 is one that is free.
`,
		Options: []Option{
			{Name: "foreground", Short: "run it here, until it is told to end"},
			{Name: "unit", Short: "print a unit for systemd --user, and do nothing"},
			{Name: "port", Value: "number", Short: "where it listens"},
			{Name: "host", Value: "address", Short: "127.0.0.1, ::1 or localhost: it is always all of them"},
			asJSON,
		},
		Examples: []string{"c2c serve start", "c2c serve status --json"}},
	{Name: "allow", C2cd: true, Args: "[id]", Short: "let a tool run that a session asks permission for",
		Long: `Answers a permission dialog that a client with a channel has told c2c of (c2c
start --channel). The dialog stays open in the client, too: the first answer
counts. Without an id it shows what is open. If two sessions have the same id,
name one: amber/abcde. Only a person can say it. "Sent" means that the session
was told, not that the tool ran.
`,
		Options:  []Option{asJSON},
		Examples: []string{"c2c allow", "c2c allow abcde"}},
	{Name: "deny", C2cd: true, Args: "[id]", Short: "refuse a tool that a session asks permission for",
		Long:     "As allow, with the other answer: the tool does not run, and the session is told.\n",
		Options:  []Option{asJSON},
		Examples: []string{"c2c deny abcde"}},
}
