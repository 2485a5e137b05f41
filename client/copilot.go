package client

// copilot is GitHub Copilot CLI. It starts an MCP server for each session, after /clear too, so the variable is always
// right there.
func copilot() Profile {
	return Profile{
		Name:          "copilot",
		Aliases:       []string{"copilot-cli", "github-copilot"},
		Info:          "copilot-cli",
		AliasPrefix:   "copilot",
		InTurn:        "its extension brings the message with the next step of the turn",
		SessionEnv:    "COPILOT_AGENT_SESSION_ID",
		ShellEnv:      true,
		SessionServer: true,
		SharedProcess: true,
		Plugin:        true,
		Inherited:     []string{"COPILOT_LOADER_PID"},
		// Measured with 1.0.102: if a tool's answer or a shell's output has more than about 20,000 bytes, the model gets
		// a file name and 500 characters; it got 19,122 bytes whole.
		Answer:    18_000,
		Shell:     18_000,
		ConfigEnv: "COPILOT_HOME",
		ConfigDir: ".copilot",
		Resume:    "copilot --resume",
		OneShot:   []string{"-p", "--prompt"},
	}
}

func copilotGuide() Guide {
	return Guide{
		Client: "copilot", Title: "GitHub Copilot CLI", Package: "@github/copilot", Tested: "1.0.102", Date: "2026-11-21",
		Active:  "our extension, behind the command that runs, with the next step of the turn",
		Idle:    "our extension, at once",
		Last:    "the tool `poll_inbox`",
		Receipt: "its event `user.message` with the message's id, and a request to the model behind it",
		Answer:  "its event `model.call_finished`",
		Sees:    "The dialog is open here: its model has the message when that is answered.",
		SetUp: "An MCP server in `~/.copilot/mcp-config.json`, an extension in `~/.copilot/extensions/c2c`, hooks in `~/.copilot/hooks/c2c.json`, and the flag " +
			"`enabledFeatureFlags.EXTENSIONS` in `~/.copilot/settings.json`, unless it is set there, for all projects.",
		Quirks: []string{
			"The flag is for all extensions: Copilot then runs each one that it finds.",
			"Where the flag is `false` it stays so. Then hooks show mail after a tool call and at the end of a turn, and announce it with a prompt. " +
				"Nothing wakes an idle session; `c2c poll-inbox --wait --check`, which the agent runs in the background, does. While the extension runs, the hooks show nothing.",
			"While the extension runs, `c2c list` says what the session does, and that it waits for its person; without it only that it lives.",
			"`/clear` begins another session, with a mailbox of its own.",
		},
	}
}
