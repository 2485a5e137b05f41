package client

func init() { register(qwen(), qwenGuide) }

// qwen is Qwen Code. Its MCP server has the value of SessionEnv from the server's start, which is
// out of date after /clear or /resume. The file of the process (SessionFile) is always right. With
// -p there is no such file, but then there is only one session. For hooks and the shells of tools
// the client sets SessionEnv at each call. In a hook the variable QWEN_CODE_LAUNCHER_PID names the
// launcher, not the client; the launcher starts the client through a third process.
func qwen() Profile {
	return Profile{
		Name:          "qwen",
		Place:         5,
		Hooks:         true,
		Prompt:        true,
		Protocol:      true,
		Aliases:       []string{"qwen-code"},
		Info:          "qwen",
		AliasPrefix:   "qwen",
		InTurn:        "its hook brings the message at the next tool call, or at the end of the turn",
		SessionEnv:    "QWEN_CODE_SESSION_ID",
		TrustEnv:      true,
		ShellEnv:      true,
		SessionFile:   "sessions/%d.json",
		DetachedHooks: true,
		Inherited: []string{"QWEN_CODE", "QWEN_CODE_AGENT_ID", "QWEN_CODE_LAUNCHER_PID", "QWEN_CODE_PROMPT_ID", "QWEN_CODE_PROJECT_DIR", "QWEN_CODE_NO_RELAUNCH",
			"QWEN_CODE_MESSAGING_SOCKET", "QWEN_CODE_MESSAGING_TOKEN"},
		// With 0.24.4, if an answer has more than 25,000 characters, the model gets a file name and
		// a part. At the fifth call in a row with the same arguments, Qwen Code asks the person
		// whether the model is in a loop.
		Answer: 24_000,
		// If a command ends at once, Qwen Code silently loses all output after the first 4,096
		// bytes (a line break counts as two). If the command ends a second later, Qwen Code passes
		// on 30,000.
		Shell:     3000,
		ShellLine: 8,
		ConfigEnv: "QWEN_HOME",
		ConfigDir: ".qwen",
		Resume:    "qwen --resume",
		Newest:    []string{"-c", "--continue"},
		Choose:    []string{"-r", "--resume"},
		StoredAt:  "projects/*/chats/%s.jsonl",
		Tokens:    TokenLines{Kind: "type", Is: "assistant", Input: []string{"usageMetadata.promptTokenCount"}, Output: "usageMetadata.candidatesTokenCount"},
		OneShot:   []string{"-p", "--prompt"},
	}
}

func qwenGuide() Guide {
	return Guide{
		Title: "Qwen Code", Package: "@qwen-code/qwen-code", Tested: "0.24.4", Date: "2026-11-21",
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
