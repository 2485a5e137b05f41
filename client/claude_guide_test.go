package client

func init() {
	guides["claude"] = guide{
		Date:    "2026-11-21",
		Active:  "hooks: after a tool call, with a prompt, at the end of a turn",
		Idle:    "its socket for messages of other sessions; without c2c's MCP server, its own watch of a file",
		Last:    "a line typed into an empty prompt (`c2c start`, tmux)",
		Receipt: "its `UserPromptSubmit` hook sees the message in the prompt",
		Answer:  "its hooks after a tool call and at the end of a turn",
		Claimed: "warned with the result of the edit, with the reason of the holder; refused before the edit where the project asks for it",
		Sees:    "It shows 120 characters of a message. In this recording the dialog is declined. Mail at the end of a turn is shown whole, below `Stop hook says:`.",
		SetUp: "An MCP server in `~/.claude.json`, for all projects; a hook script, which starts no program while the mailbox is empty, and its " +
			"entries in `~/.claude/settings.json`; a mod in `~/.claude/skills/c2c`, from 2.1.305 on, with a skill that tells the model when to write, ask and answer. The rule `mcp__c2c` in `permissions.allow` lets the model " +
			"call c2c's own tools without asking; `--ask` leaves it out. Claude Code asks its person nothing about these files.",
		Quirks: []string{
			"With `--project` the server is in `.mcp.json` at the top of the repository, only for this project; the hooks are for all. Then Claude Code asks " +
				"about the server: choose \"Use this MCP server\". Enter alone means no, and Claude Code does not ask again: `c2c doctor` explains how to undo that.",
			"Claude Code does not restart an MCP server that was killed: `/mcp` or `/clear` starts it again.",
			"As a plugin instead: `claude plugin marketplace add <c2c's source>/install/marketplace`, then `claude plugin install c2c@c2c`. " +
				"The tools then have longer names, and Claude Code asks nothing. If `c2c install` has set up the same, the plugin does nothing.",
			"With the mod the client's own tools `SendMessage` and `ListAgents` also know the sessions of c2c, after the client's own sessions; " +
				"`/inbox` and the status line show the person which mail waits. Mail also arrives without the mod (tested with 2.1.240).",
			"With c2c as a channel (`c2c start --channel claude`) its permission dialogs can also be answered in another terminal or in a browser: [http.md](http.md#permission-dialogs).",
			"c2c respects `crossSessionInbound` in its settings, and `c2c status` shows it.",
			"In plan mode it asks its person before `send` and the other tools of c2c that write, in spite of the rule `mcp__c2c`.",
			"With `denyInsteadOfPrompting` in `permissions` (2.1.319) it refuses what it would ask about: `send` in plan mode, every tool after `--ask`.",
			"With `blockReadsOutsideWorkingDirectories` in `permissions` (2.1.257) its model reads a file whose path it was sent only in the project, or in " +
				"a folder of `/add-dir`; `blockWritesOutsideWorkingDirectories` (2.1.314) is the same for writing.",
			"With `disableAllHooks` in its settings c2c only rings: the mail waits for `poll_inbox`.",
		},
	}
}
