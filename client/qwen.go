package client

// qwen is Qwen Code. Its MCP server keeps the variable that it started with, which /clear and /resume make stale; the
// file of the process is right. With -p there is no such file, but only one session. The client sets the variable for
// hooks and the shells of its tools at each call. It tells hooks the process of its launcher, not its own; the launcher
// starts the client through a third process.
func qwen() Profile {
	return Profile{
		Name:          "qwen",
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
		// With 0.24.4, if there are more than 25,000 characters, the model gets a file name and some of them. At the fifth
		// call in a row with the same arguments Qwen Code asks the person whether that is a loop.
		Answer: 24_000,
		// If a command ends at once, Qwen Code silently loses what follows the first 4,096 bytes (a line break counts as
		// two); if the command ends a second later, it passes on 30,000.
		Shell:     3000,
		ShellLine: 8,
		ConfigEnv: "QWEN_HOME",
		ConfigDir: ".qwen",
		Resume:    "qwen --resume",
		OneShot:   []string{"-p", "--prompt"},
	}
}

func qwenGuide() Guide {
	return Guide{
		Client: "qwen", Title: "Qwen Code", Package: "@qwen-code/qwen-code", Tested: "0.24.4", Date: "2026-11-21",
		Active:  "hooks: after a tool call, with a prompt, at the end of a turn",
		Idle:    "its socket for messages of other sessions",
		Last:    "a line typed into an empty prompt (`c2c start`, tmux, screen)",
		Receipt: "its own record of the session shows the message",
		Answer:  "its hooks; its record, at the end of a turn",
		Sees:    "It shows 120 characters of a message to an idle session. What came in a turn or at a dialog is shown when the turn ends. Mail at the end of a turn stands whole below `Stop hook error:`.",
		SetUp:   "An MCP server and hooks in `~/.qwen/settings.json`, for all projects. In a folder that its person trusts, c2c's own tools run without being asked about, unless you say `--ask`.",
		Quirks: []string{
			"`crossSessionInbound` in its settings is kept to, and `c2c status` says so.",
			"Its own `send_message` reaches every session of the project by its alias, and `list_agents` shows them (Linux). A name that two projects have is shown with its directory, and the model has to choose.",
			"After an error 400 of its model, Qwen Code 0.24.4 puts what came over its socket into its history again, and asks again, several times a second, until the model answers; so it does with its own messages between sessions. c2c gives it no more over the socket for 15 minutes behind the last such error, or until its model answers, and `c2c status` says so: a prompt brings the mail.",
			"Mail at the end of a turn stands under the words \"Stop hook error\". That is no error.",
		},
	}
}
