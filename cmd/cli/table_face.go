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
}
