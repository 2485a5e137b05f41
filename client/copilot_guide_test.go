package client

func init() {
	guides["copilot"] = guide{
		Date:    "2026-11-21",
		Active:  "c2c's extension, after the command that runs, with the next step of the turn",
		Idle:    "c2c's extension, at once",
		Last:    "the tool `poll_inbox`",
		Receipt: "its event `user.message` with the message's id, and then a request to the model",
		Answer:  "its event `model.call_finished`",
		Claimed: "warned with the result of the edit, with the reason of the holder; refused before the edit where the project asks for it. A subagent is refused and not warned",
		Sees:    "In this recording the dialog is open: the model gets the message when the dialog is answered.",
		SetUp: "An MCP server in `~/.copilot/mcp-config.json`, an extension in `~/.copilot/extensions/c2c`, hooks in `~/.copilot/hooks/c2c.json`, and the flag " +
			"`enabledFeatureFlags.EXTENSIONS` in `~/.copilot/settings.json`, unless the file sets it already. All are for all projects.",
		Quirks: []string{
			"A hook (`PermissionRequest`) allows c2c's own tools, so Copilot does not ask before its model calls one, unless you install with `--ask`. " +
				"It allows nothing if Copilot runs with an option `--deny-tool`.",
			"New posts of rooms come with mail that begins a turn. With a prompt a hook only says that there are some: `poll_inbox` shows them.",
			"The flag applies to all extensions: Copilot then runs every extension that it finds. `c2c start` without `c2c install` sets it for that session (`COPILOT_CLI_ENABLED_FEATURE_FLAGS`), and gives the rest with `--plugin-dir` and `--additional-mcp-config`.",
			"If the flag is `false`, it stays so. Then hooks show mail after a tool call and at the end of a turn, and announce it with a prompt. " +
				"An idle session is then woken only by `c2c poll-inbox --wait --check`, if its agent runs that in the background.",
			"Without the extension `c2c list` shows only that the session is alive.",
			"`/clear` begins another session, with a mailbox of its own. In a window of `c2c start --alias <name> copilot` the new session keeps the name and its mail.",
		},
	}
}
