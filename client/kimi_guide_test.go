package client

func init() {
	guides["kimi"] = guide{
		Date:    "2026-11-21",
		Active:  "hooks: with a prompt and at the end of a turn; under `c2c start` a line joins the turn after the current tool call",
		Idle:    "a line typed into an empty prompt (`c2c start`, tmux); a session of `kimi web` through that server; else `c2c poll-inbox --wait --check`, which the agent runs in the background",
		Last:    "the hooks of the next prompt",
		Receipt: "the hook's answer was written",
		Answer:  "its hook at the end of a turn; its log",
		Claimed: "refused before the edit where the project asks for it; else warned by a message of c2c, once for each claim, which comes with its mail at the end of the turn: its model sees nothing of the hooks around a tool call. Both are without the words of the holder. For a subagent's edit the session gets the message",
		Sees:    "In this recording c2c rings the idle session by a line in its prompt. Mail at the end of a turn, also after a declined dialog, is not shown: c2c asks the model to mention the mail, and with the next prompt, as in this recording, c2c shows the person a line about it.",
		SetUp:   "An MCP server in `~/.kimi-code/mcp.json` and hooks in `~/.kimi-code/config.toml`, for all projects.",
		Quirks: []string{
			"In the mode `manual` Kimi Code asks before each tool call, also of a tool of c2c: its configuration has no rule to allow them.",
			"Without `c2c start` only `c2c poll-inbox --wait --check` in the background, with `disable_timeout`, wakes the session. When that command ends, Kimi Code starts a turn, and the end of the turn brings the mail. Then the agent has to run the command again.",
			"The server of `kimi web` does not wake a session that a window has open. While it has several sessions, c2c's tools cannot know which one calls them, and return an error.",
			"The older kimi-cli in Python is another program, which `c2c install` does not set up. `c2c wire-daemon` starts an agent of it (`kimi --wire`) and carries mail to that. We could not get that program, so c2c is tested only against its documentation and its npm client.",
		},
	}
}
