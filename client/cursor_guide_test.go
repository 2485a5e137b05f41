package client

func init() {
	guides["cursor"] = guide{
		Date:    "2026-11-21",
		Active:  "the result of any tool of c2c; a hook announces mail after other tools, and at the end of a turn",
		Idle:    "nothing wakes it; over HTTP (`c2c install cursor --http`) a notification on its stream of events: c2c's side is tested, Cursor's is not",
		Last:    "the tool `poll_inbox`",
		Receipt: "that the result was written",
		Answer:  "nothing: mail counts as read when it was handed over",
		Claimed: "nothing: its agent calls `claims`",
		Sees:    "Not known: Cursor could not be run.",
		SetUp: "An MCP server in `~/.cursor/mcp.json` and hooks in `~/.cursor/hooks.json`, for all projects. The files follow its " +
			"documentation: we could not run Cursor. The CLI uses the server after `cursor-agent mcp enable c2c` in the project. `c2c install cursor --http` writes the URL and the token of the HTTP daemon (`c2c serve`) into `mcp.json` instead.",
		Quirks: []string{
			"A window gets a mailbox when it first calls a tool of c2c, such as `me`. All conversations of the window share the mailbox. If a subagent calls a tool of c2c, the subagent gets the mail.",
			"After a tool call a hook announces each waiting message once, in the conversation in which the person has written last. The announcements begin with the first prompt after the window has got its mailbox. With `cursor-agent -p` there are none.",
			"The follow-up at the end of a turn also only announces mail, because Cursor takes its words for the person's. It comes once in a turn, and not with `cursor-agent -p`. If c2c cannot find the window to which a hook of the editor belongs, the hook announces nothing.",
			"Over HTTP mail rings by `notifications/resources/updated`. In four other clients this begins no turn; whether Cursor acts on it is not known.",
			"Over HTTP the header `X-C2C-Project` is `${workspaceFolder}`. If Cursor does not replace that by a path, `c2c list` in the project does not show the window.",
			"If the editor starts its servers outside the project, put the project's root into `C2C_MCP_BROKER_ROOT` in `env` of `mcp.json`. The line `root` of `c2c doctor --verbose`, run in the project, shows that path.",
		},
	}
}
