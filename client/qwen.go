package client

// qwen is Qwen Code. Its MCP server keeps the variable that it started with, which /clear and /resume make stale;
// the file of the process is right. Under -p there is no such file, and one session. Hooks and the shells of its
// tools are given the variable at each call. Hooks are not told the client's process, only that of its launcher, which
// starts it by way of another.
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
		// Of more than 25,000 characters the model of 0.24.4 gets a file name and some of them. At the fifth call in
		// a row with the same arguments it asks its person whether that is a loop.
		Answer: 24_000,
		// When a command ends at once, it loses in silence what is behind the first 4,096 bytes (a line break
		// counts as two); of a command that ends a second later it passes on 30,000.
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
