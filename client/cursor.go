package client

// cursor is Cursor, the editor and its CLI (cursor-agent), by its documentation of 2026-11: we could run neither.
// A tool call does not name the conversation. A process, which is a window of the editor or a CLI, has one mailbox.
func cursor() Profile {
	return Profile{
		Name:        "cursor",
		Program:     "cursor-agent", // the program "cursor" opens the editor and ends
		Info:        "cursor",
		AliasPrefix: "cursor",
		ResultMail:  true, // its hooks only announce mail; a call does not show whether a subagent makes it
		ProjectEnv:  "CURSOR_PROJECT_DIR",
		ConfigDir:   ".cursor",
		Resume:      "cursor-agent --resume",
		OneShot:     []string{"-p", "--print"},
	}
}

func cursorGuide() Guide {
	return Guide{
		Client: "cursor", Title: "Cursor", Date: "2026-11-21",
		Active:  "the result of a call of a tool of c2c; a hook announces it after other tools, and at the end of a turn",
		Idle:    "nothing wakes it; over HTTP (`c2c install cursor --http`) a doorbell on its stream of events: protocol tested, client not",
		Last:    "the tool `poll_inbox`",
		Receipt: "the result was written",
		Answer:  "nothing: mail is read when it was handed over",
		Sees:    "It could not be run: not known.",
		SetUp: "An MCP server in `~/.cursor/mcp.json` and hooks in `~/.cursor/hooks.json`, for all projects. The files are made by its " +
			"documentation: Cursor could not be run here. The CLI uses the server after `cursor-agent mcp enable c2c` in the project. `c2c install cursor --http` puts the URL and the token of the HTTP daemon (`c2c serve`) there instead.",
		Quirks: []string{
			"A window has its mailbox from its first call of a tool of c2c on, such as `whoami`. All conversations of a window share it. A subagent that calls a tool of c2c is given the mail, too.",
			"After a tool a hook says that mail waits, once for each message, in the conversation in which its person has written last. A subagent's is another one; that is what others have recorded, the documentation does not say it. It begins with the first prompt after the window has its mailbox, and does not come with `cursor-agent -p`.",
			"The follow-up at the end of a turn only says that mail waits, too: Cursor takes its words for the person's. It comes once a turn, and not with `cursor-agent -p`. Whether the editor's hooks can be told to belong to a window is not known: if not, they say nothing.",
			"Over HTTP the doorbell is `notifications/resources/updated` on the stream that the client has open. Four other clients were tried that way: it arrives while they are idle, and begins no turn. Whether Cursor acts on it is not known.",
			"Over HTTP `X-C2C-Project` is `${workspaceFolder}`. If Cursor does not fill that in, the directory of its process decides which project it is, then the one in which `c2c serve start` was run; the tool `runtime_diagnostics` says which it was.",
			"If the editor starts its servers outside of the project, `C2C_MCP_BROKER_ROOT` in `env` of `mcp.json` names the project's root: the line `root` of `c2c doctor --verbose` there shows the path.",
			"Cursor may run hooks that were set up for another client, c2c's among them (Third-party skills). Those of c2c notice it, and do nothing.",
		},
	}
}
