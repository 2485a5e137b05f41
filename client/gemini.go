package client

// gemini is Gemini CLI. It names the session only to its hooks, so the MCP server and the shells of its tools know it by
// the process. /clear and /resume keep the process. The client starts itself again, and the second process has the session.
func gemini() Profile {
	return Profile{
		Name:        "gemini",
		Aliases:     []string{"gemini-cli"},
		Info:        "gemini",
		AliasPrefix: "gemini",
		InTurn:      "its hook brings the message at the next tool call, or at the end of the turn",
		ChildHooks:  true,
		Inherited:   []string{"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_PLANS_DIR"},
		// With 0.61.0, if there are more than 40,000 characters, the model gets the first fifth, the last part, and a
		// file name. In a shell's output the mail that a hook adds counts, too.
		Answer: 38_000,
		// Gemini CLI takes JSON in the first text of an answer for structured content, which must be an object.
		NoArrays:        true,
		Shell:           15_000,
		ConfigParentEnv: "GEMINI_CLI_HOME",
		ConfigDir:       ".gemini",
		Resume:          "gemini --resume",
		OneShot:         []string{"-p", "--prompt"},
	}
}

func geminiGuide() Guide {
	return Guide{
		Client: "gemini", Title: "Gemini CLI", Package: "@google/gemini-cli", Tested: "0.61.0", Date: "2026-11-21",
		Active:  "hooks: after a tool call, with a prompt, at the end of a turn",
		Idle:    "a line typed into an empty prompt (`c2c start`, tmux, screen); else `c2c poll-inbox --wait --check`, which the agent runs in the background",
		Last:    "the hooks of the next prompt",
		Receipt: "the hook's answer was written",
		Answer:  "its hook after a tool call; its record, at the end of a turn",
		Sees:    "Idle it is rung by a line in its prompt here. The dialog is answered here. Mail at the end of a turn stands whole below `Agent execution blocked:`.",
		SetUp:   "An MCP server and hooks in `~/.gemini/settings.json`, for all projects. c2c's own tools run without being asked about, in a folder that its person trusts, unless you say `--ask`.",
		Quirks: []string{
			"In a folder that is not trusted it runs neither c2c's server nor its hooks: only `c2c start` tells of mail, with a line that says to run `c2c poll-inbox`.",
			"Mail at the end of a turn stands under the words \"Agent execution blocked\". That is no error.",
			"It tells when it asks its person something, and not when that is answered. So it is `waiting` until the tool that it asked about has ended, or until the next prompt.",
			"Esc while the model answers makes Gemini CLI forget the whole turn, with the mail that came in it, and so does a request that fails. That mail is `queued` again, and comes once more with the next prompt; of what `poll_inbox` brought its model is told that `history` shows it.",
			"Without `c2c start` nothing wakes it but `c2c poll-inbox --wait --check` in the background, and only with both settings, `\"tools\": {\"shell\": {\"backgroundCompletionBehavior\": \"inject\"}}` and `\"experimental\": {\"modelSteering\": true}`. c2c does not set them: then what any background command prints counts as words of the person.",
		},
	}
}
