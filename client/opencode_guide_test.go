package client

func init() {
	guides["opencode"] = guide{
		Date:    "2026-11-21",
		Active:  "c2c's plugin, as a message of its own after the current tool call",
		Idle:    "c2c's plugin, at once",
		Last:    "the tool `poll_inbox`",
		Receipt: "a request to the model holds the message",
		Answer:  "its event that a step of the turn begins",
		Claimed: "warned with the result of the edit, with the reason of the holder; refused before the edit where the project asks for it. A subagent, too",
		Sees:    "In this recording the dialog is open: the model gets the message when the dialog is answered.",
		SetUp:   "An MCP server in `~/.config/opencode/opencode.json` (or `.jsonc`) and a plugin in `plugins/c2c.ts` beside it, for all projects. With `--project` both are below `.opencode`, only for this project; with `--project --install-global-plugin` the plugin is for all projects.",
		Quirks: []string{
			"A session that the person has left with `/new` becomes `away` at the first prompt of the next session: its mail waits until the person writes in it again. If mail begins a turn in it before that prompt, the window shows it again, and a draft moves along, unless several windows may share one server (`--port`, `serve`, `attach`).",
			"A new session can get mail from its first prompt on. In a window of `c2c start --alias <name> opencode`, without further arguments, mail that comes on the home screen begins a session. A session that is opened with `--session <id>` or `--continue` gets mail at once.",
			"If you undo a message before the model has got it, the message comes again.",
			"At its first start with a plugin OpenCode downloads a package: without a network the screen stays black for more than a minute.",
			"In OpenCode 2 the plugin is loaded and has no effect: only the MCP tools work. We could not get OpenCode 2, so it is not tested.",
		},
	}
}
