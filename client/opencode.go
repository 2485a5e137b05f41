package client

// opencode is OpenCode. It does not name the session to its MCP server; our plugin in it adds an argument to each
// call, and sets the variable for the shells of its tools.
func opencode() Profile {
	return Profile{
		Name:            "opencode",
		Info:            "opencode",
		AliasPrefix:     "opencode",
		InTurn:          "its plugin brings the message with the next step of the turn",
		SessionEnv:      "C2C_OPENCODE_SESSION_ID",
		ShellEnv:        true,
		SessionArgument: "_session_id",
		SharedProcess:   true,
		Plugin:          true,
		// The original writes this file. c2c does not read the session id and the root in it: the author of the project
		// could name other people's.
		ProjectFile: ".opencode/c2c-plugin.json",
		Inherited:   []string{"OPENCODE", "OPENCODE_PID", "OPENCODE_RUN_ID", "OPENCODE_PROCESS_ROLE"},
		// Measured with 1.18.33: if a tool's answer or a shell's output has more than 51,200 bytes or 2,000 lines, the
		// model gets a file name and a part of it.
		Answer:          48_000,
		Shell:           48_000,
		ShellLine:       25,
		ConfigParentEnv: "XDG_CONFIG_HOME",
		ConfigDir:       ".config/opencode",
		Resume:          "opencode --session",
		OneShot:         []string{"run"},
	}
}

func opencodeGuide() Guide {
	return Guide{
		Client: "opencode", Title: "OpenCode", Package: "opencode-ai", Tested: "1.18.33", Date: "2026-11-21",
		Active:  "our plugin, as a message of its own behind the current tool call",
		Idle:    "our plugin, at once",
		Last:    "the tool `poll_inbox`",
		Receipt: "a request to the model holds the message",
		Answer:  "its event of a step that begins",
		Sees:    "The dialog is open here: its model has the message when that is answered.",
		SetUp:   "An MCP server in `~/.config/opencode/opencode.json` (or `.jsonc`) and a plugin in `plugins/c2c.ts` beside it, for all projects. With `--project`: the same below `.opencode`, for this project alone; with `--project --install-global-plugin` the plugin is for all.",
		Quirks: []string{
			"A session that was left with `/new` is `away` from the first prompt of the next one on: its mail waits until its person writes there again. Before that, on the home screen, OpenCode tells nobody that its window shows it no more: mail that begins a turn in it has the window show it again, and a draft moves along; not so where several windows may look at one server (`--port`, `serve`, `attach`).",
			"A new session has mail from its first prompt on. In a window of `c2c start --alias <name> opencode`, without further arguments, mail on the home screen begins a session.",
			"Mail that you undo before the model has it comes again.",
			"At its first start with a plugin it fetches a package of its own: offline the screen is black for more than a minute.",
			"OpenCode 2 loads the plugin and has nothing of it: only its MCP tools work. It could not be had, so it is not tested.",
		},
	}
}
