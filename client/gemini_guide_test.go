package client

func init() {
	guides["gemini"] = guide{
		Date:    "2026-11-21",
		Active:  "hooks: after a tool call, with a prompt, at the end of a turn",
		Idle:    "a line typed into an empty prompt (`c2c start`, tmux); else `c2c poll-inbox --wait --check`, which the agent runs in the background",
		Last:    "the hooks of the next prompt",
		Receipt: "the hook's answer was written",
		Answer:  "its hook after a tool call; its record, at the end of a turn",
		Claimed: "warned with the result of the edit, with the reason of the holder; refused before the edit where the project asks for it. A subagent is refused and not warned",
		Sees:    "In this recording c2c rings the idle session by a line in its prompt, and the dialog is answered. Mail at the end of a turn is shown whole, below `Agent execution blocked:`, which is not an error.",
		SetUp:   "An MCP server and hooks in `~/.gemini/settings.json`, for all projects. In a folder that its person trusts, Gemini CLI does not ask before its model calls a tool of c2c, unless you install with `--ask`.",
		Quirks: []string{
			"In a folder that is not trusted, Gemini CLI runs neither the server nor the hooks of c2c. Then only `c2c start` announces mail, with a line that tells the model to run `c2c poll-inbox`.",
			"Gemini CLI does not report that its person has answered a dialog: the session is `waiting` until the tool in question has ended, or until the next prompt.",
			"After Esc while the model answers, and after a request that fails, Gemini CLI forgets the whole turn, together with the mail that came in it. Mail that a hook brought is then `queued` again, and comes once more with the next prompt. For mail that `poll_inbox` brought, the model is told to `look` at its `history`.",
			"Without `c2c start` only `c2c poll-inbox --wait --check` in the background wakes the session, and only with both settings, `\"tools\": {\"shell\": {\"backgroundCompletionBehavior\": \"inject\"}}` and `\"experimental\": {\"modelSteering\": true}`. c2c does not set them, because with them the output of any background command counts as words of the person.",
		},
	}
}
