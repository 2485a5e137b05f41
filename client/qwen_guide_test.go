package client

func init() {
	guides["qwen"] = guide{
		Date:    "2026-11-21",
		Active:  "hooks: after a tool call, with a prompt, at the end of a turn",
		Idle:    "its socket for messages of other sessions",
		Last:    "a line typed into an empty prompt (`c2c start`, tmux)",
		Receipt: "its own record of the session shows the message",
		Answer:  "its hooks; its record, at the end of a turn",
		Claimed: "warned with the result of the edit, with the reason of the holder; refused before the edit where the project asks for it. A subagent is refused and not warned",
		Sees:    "It shows 120 characters of a message to an idle session. Mail that came in a turn or at a dialog is shown when the turn ends. Mail at the end of a turn is shown whole, below `Stop hook error:`, which is not an error.",
		SetUp:   "An MCP server and hooks in `~/.qwen/settings.json`, for all projects. In a folder that its person trusts, Qwen Code does not ask before its model calls a tool of c2c, unless you install with `--ask`.",
		Quirks: []string{
			"c2c respects `crossSessionInbound` in its settings, and `c2c status` shows it.",
			"Its own `send_message` and `list_agents` know only windows of Qwen Code. To the other sessions of a project its model writes with the tool `send` of c2c.",
			"After an error 400 of its model, Qwen Code 0.24.4 repeats the messages from its socket several times a second, until the model answers. So c2c sends nothing over the socket for 15 minutes after the last such error, or until the model answers, and `c2c status` shows it. A prompt of the person still brings the mail.",
			"If its person presses Esc in a turn that mail has begun, Qwen Code 0.24.4 itself puts the same message into the conversation once more and asks its model again.",
		},
	}
}
