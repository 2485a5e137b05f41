package client

func init() { register(gemini(), geminiGuide) }

// gemini is Gemini CLI. It names the session only to its hooks. So c2c finds the session of the MCP
// server and of a tool's shell by the client's process, which stays the same after /clear and
// /resume. The client starts a second process of itself; the second process has the session.
func gemini() Profile {
	return Profile{
		Name:        "gemini",
		Place:       7,
		Hooks:       true,
		Prompt:      true,
		Aliases:     []string{"gemini-cli"},
		Info:        "gemini",
		AliasPrefix: "gemini",
		InTurn:      "its hook brings the message at the next tool call, or at the end of the turn",
		ChildHooks:  true,
		Typed:       true,
		Inherited:   []string{"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_PLANS_DIR"},
		// With 0.61.0, if a text has more than 40,000 characters, the model gets the first fifth,
		// the last part, and a file name. In a shell's output the mail that a hook adds counts,
		// too.
		Answer: 38_000,
		// Gemini CLI takes JSON in the first text of an answer for structured content, which must
		// be an object.
		NoArrays:        true,
		Shell:           15_000,
		ConfigParentEnv: "GEMINI_CLI_HOME",
		ConfigDir:       ".gemini",
		Resume:          "gemini --resume",
		Choose:          []string{"-r", "--resume"},
		StoredAt:        "tmp/*/chats/*-%.8s.jsonl",
		Tokens:          TokenLines{Kind: "type", Is: "gemini", Input: []string{"tokens.input"}, Output: "tokens.output"},
		OneShot:         []string{"-p", "--prompt"},
	}
}

func geminiGuide() Guide {
	return Guide{
		Title: "Gemini CLI", Package: "@google/gemini-cli", Tested: "0.61.0", Date: "2026-11-21",
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
