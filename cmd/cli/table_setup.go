package cli

// The verbs that set c2c up, and those that clients and scripts call.

var setup = []Verb{
	{Name: "install", C2cd: true, Everyday: true, Args: "[client]", First: "client", Short: "set up the clients found here, or one",
		Long: `Sets c2c up in a client, for all projects: its MCP server, and its hooks or
plugin. Without a client: in every one found here. It knows
{clients}.
It prints what it did, and what you must still do. Run it again after an update.
Each session then reads up to 4,000 bytes of tools and instructions of c2c.
Where the client has a rule for it, its model calls c2c's own tools without
asking you; --ask leaves that out. For any other client, use --print mcp. With
--http a client has the tools through c2c serve.
`,
		Options: []Option{
			{Name: "ask", Short: "the client asks before its model calls c2c's tools"},
			{Name: "project", Short: "for this project alone, if the client can"},
			{Name: "install-global-plugin", Short: "with --project: the plugin is for all"},
			{Name: "http", Short: "through the HTTP daemon: cursor"},
			{Name: "print", Value: "what", Takes: "mcp", Short: "mcp: print the MCP server to paste, no change"},
			{Name: "verbose", Short: "also show each change, with c2c's own files in full"},
			dryRun,
		},
		Examples: []string{"c2c install --dry-run {client}"}},
	{Name: "uninstall", C2cd: true, Args: "[client]", First: "client", Short: "undo the changes of install",
		Long: `Takes out of the client's configuration what c2c install has put there, also in
other projects. Mail stays, and a session that still runs gets none. Without a
client: every one that it knows, which are
{clients}.
A damaged file stays as it is. The rest is undone, and the exit status is 1.
`,
		Options:  []Option{{Name: "verbose", Short: "also show each change, with c2c's own files in full"}, dryRun},
		Examples: []string{"c2c uninstall --dry-run {client}"}},
	{Name: "doctor", C2cd: true, Everyday: true, Short: "check the root and the installed clients",
		Long: `Shows what is wrong and what to do: with the settings, with what is installed,
and with sessions that could not be woken. --verbose also shows what is well,
each setting with its source. With a problem it exits 1, with warnings alone 0.
`,
		Options: []Option{
			{Name: "verbose", Short: "also show what is well"},
			{Name: "roundtrip", Short: "also send a message to itself, by hook and server"},
			asJSON,
		},
		Examples: []string{"c2c doctor --roundtrip"}},
	{Name: "completion", Args: "bash | zsh | fish", First: "bash zsh fish", Short: "print a completion script",
		Long: `With C2C_ANNOUNCE=1 in the shell the script also announces your own mail at the
next prompt, once.
`,
		Examples: []string{"source <(c2c completion bash)"}},
	{Name: "version", Short: "print the version, the commit and Go's version", Options: []Option{asJSON}, Examples: []string{"c2c version"}},
}

var inside = []Verb{
	{Name: "hook", Short: "answer a client's hook event on stdin",
		Options: []Option{
			{Name: "client", Value: "client", Default: "", Takes: "client", Short: "whose hook it is, if not {client}'s"},
			{Name: "edit", Short: "a tool is about to change a file: say who has claimed it"},
		},
		Exit:     "0; 2 makes the client read standard error",
		Examples: []string{"c2c hook --client {client} < event.json"}},
	{Name: "mcp", C2cd: true, Short: "the MCP server that a client starts",
		Long: `On standard input and output, until the input ends. Clients start it; c2c
install tells them how.
`,
		Options:  []Option{{Name: "plugin", Short: "be silent where c2c install has set up the same client"}},
		Examples: []string{"c2c mcp < requests.jsonl"}},
	{Name: "plugin", C2cd: true, Args: "<client>", First: "client", Short: "the other end of a plugin that a client runs",
		Long:     "On standard input and output, until the input ends. The plugin starts it.\n",
		Options:  []Option{{Name: "process", Value: "id", Short: "the client's process; default: the parent"}},
		Examples: []string{"c2c plugin {client} < lines.jsonl"}},
	{Name: "daemon", C2cd: true, Args: "<verb>", First: "start stop restart status log run", Short: "the one process of c2c in the background",
		Long: `It has the parts serve, relay, and wake of each root, which c2c serve, c2c relay
and c2c wake switch on and off. It starts when a part is switched on, and ends
with the last part. A part that is on comes back after a kill or a boot, when
the next session runs. Mail between sessions of this machine needs no daemon.

  start                  start it with all parts that are on
  stop                   end it; nothing but a start starts it again
  restart                run the installed c2c in its process, after an update
  status                 whether it runs (if not, exit 3), and each part
  log                    the end of its log
  run                    the daemon in the foreground, for systemd
`,
		Options:  []Option{{Name: "unit", Short: "print a unit for systemd --user, and do nothing"}, asJSON},
		Examples: []string{"c2c daemon status"}},
	{Name: "wake", C2cd: true, Args: "<verb>", First: "start stop restart run status attach detach", Short: "wake sessions from outside: tmux, a daemon",
		Long: `A part of the daemon (c2c daemon) that wakes sessions whose own MCP server does
not: those that a daemon of their client serves, and clients in tmux that you
attach.

  start, stop            switch it on, or off, for this root
  restart                start this part again, with other settings
  run                    the daemon in the foreground, with this part on
  status                 whether it runs (if not, exit 3), and the sessions that
                         are attached or woken by their client's daemon, each
                         with its last ring; c2c list shows all sessions
  attach, detach         let c2c type into the pane that this runs in, when the
                         client there is idle and its prompt is empty
`,
		Options: []Option{
			{Name: "min-inject-gap", Value: "duration", Default: "15s", Short: "pause between rings for a message; it doubles"},
			asSession, asJSON,
		},
		Examples: []string{"c2c wake start"}},
	{Name: "wire-daemon", C2cd: true, Args: "<verb> [-- command of the agent]", First: "start stop restart run status list", Short: "carry mail to an agent that speaks Wire",
		Long: `Carries the mail of a session to an agent that speaks the Wire protocol: the
older client of Python, "{wire}". The npm client of that name does not
speak it. c2c tries the agent at the start, and starts it in this directory when
there is mail. Mail waits until its model has answered; after an error c2c tries
again, after longer and longer pauses. It was tested against the agent's
documentation and its npm client, not with the agent.

  start, stop, restart   the process of the session --alias
  run                    the same, in the foreground; --once: until all is read
  status                 what it and its agent do; if it does not run, exit 3
  list                   all of this root
`,
		Options: []Option{
			{Name: "alias", Value: "name", Takes: "alias", Short: "the session's name, the same mailbox each time"},
			{Name: "approve", Short: "approve what the agent asks for; else it is rejected"},
			{Name: "pidfile", Value: "file", Takes: "file", Short: "start, run: write the process id to this new file, too"},
			{Name: "once", Short: "run: deliver the waiting mail, and end"},
			asJSON,
		},
		Examples: []string{"c2c wire-daemon start --alias amber"}},
	{Name: "inject", C2cd: true, Args: "<alias> [text | -]", First: "alias", Short: "write into an ended session's history (experimental)",
		Long: `Writes a message into the history of a session that does not run, where its
client shows it when the session is resumed. It is no mail: it has no status,
and is not in c2c history. The file is the client's own; another version may not
show it. A session that runs is refused: c2c send reaches it.
`,
		Options:  []Option{asSession},
		Examples: []string{"c2c inject --from birch amber 'The build is green.'"}},
}
