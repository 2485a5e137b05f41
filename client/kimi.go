package client

func init() { register(kimi(), kimiGuide) }

// kimi is Kimi Code (npm @moonshot-ai/kimi-code), not the older kimi-cli in Python. Neither a tool
// call nor the environment of the MCP server names the session. So a window has one mailbox, and
// its hooks bind the mailbox to the session that the window shows. `kimi web` is one process for
// many sessions, with one MCP server. There the hooks name the session, and each session has a
// mailbox. But c2c knows the session of a tool call only as long as there is only one session.
func kimi() Profile {
	return Profile{
		Name:           "kimi",
		Place:          6,
		Hooks:          true,
		Prompt:         true,
		Protocol:       true,
		Aliases:        []string{"kimi-code", "kimi-cli"},
		Info:           "kimi",
		AliasPrefix:    "kimi",
		InTurn:         "its hook brings the message at the end of the turn",
		DetachedHooks:  true,
		Typed:          true,
		Doing:          kimiDoing,
		Servers:        "server/instances",
		MailedWarnings: true,
		// Measured with 2.1.0: if a tool's answer or a shell's output has more than 50,000
		// characters, the model gets a file name and 5,000 characters.
		Answer:    45_000,
		Shell:     45_000,
		ConfigEnv: "KIMI_CODE_HOME",
		ConfigDir: ".kimi-code",
		Resume:    "kimi --session",
		Newest:    []string{"-c", "-C", "--continue"},
		Choose:    []string{"-S", "-r", "--session", "--resume"},
		StoredAt:  "sessions/*/%s",
		Tokens: TokenLines{File: "agents/" + KimiOwn + "/" + KimiLog, Kind: "event.type", Is: "step.end", Output: "event.usage.output",
			Input: []string{"event.usage.inputOther", "event.usage.inputCacheRead", "event.usage.inputCacheCreation"}},
		OneShot: []string{"-p", "--prompt"},
		Wire:    []string{"kimi", "--wire"}, // the older kimi-cli; Kimi Code does not know the option
	}
}

func kimiGuide() Guide {
	return Guide{
		Title: "Kimi Code", Package: "@moonshot-ai/kimi-code", Tested: "2.1.0", Date: "2026-11-21",
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
