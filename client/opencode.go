package client

func init() { register(opencode(), opencodeGuide) }

// opencode is OpenCode. It does not name the session to its MCP server. Our plugin inside OpenCode
// adds an argument with the session's id to each call, and sets the variable SessionEnv for the
// shells of tools.
func opencode() Profile {
	return Profile{
		Name:            "opencode",
		Place:           3,
		Info:            "opencode",
		AliasPrefix:     "opencode",
		InTurn:          "its plugin brings the message with the next step of the turn",
		SessionEnv:      "C2C_OPENCODE_SESSION_ID",
		ShellEnv:        true,
		SessionArgument: "_session_id",
		SharedProcess:   true,
		Plugin:          true,
		// The OCaml c2c writes this file. c2c does not read the session id and the root from the
		// file, because the author of the project could name those of other people.
		ProjectFile: ".opencode/c2c-plugin.json",
		Inherited:   []string{"OPENCODE", "OPENCODE_PID", "OPENCODE_RUN_ID", "OPENCODE_PROCESS_ROLE"},
		// Measured with 1.18.33: if a tool's answer or a shell's output has more than 51,200 bytes
		// or 2,000 lines, the model gets a file name and a part.
		Answer:          48_000,
		Shell:           48_000,
		ShellLine:       25,
		ConfigParentEnv: "XDG_CONFIG_HOME",
		ConfigDir:       ".config/opencode",
		Resume:          "opencode --session",
		Newest:          []string{"-c", "--continue"},
		OneShot:         []string{"run"},
	}
}

func opencodeGuide() Guide {
	return Guide{
		Title: "OpenCode", Package: "opencode-ai", Tested: "1.18.33", Date: "2026-11-21",
		Active:  "c2c's plugin, as a message of its own after the current tool call",
		Idle:    "c2c's plugin, at once",
		Last:    "the tool `poll_inbox`",
		Receipt: "a request to the model holds the message",
		Answer:  "its event that a step of the turn begins",
		Claimed: "warned with the result of the edit, with the reason of the holder; refused before the edit where the project asks for it. A subagent, too",
		Sees:    "In this recording the dialog is open: the model gets the message when the dialog is answered.",
		SetUp:   "An MCP server in `~/.config/opencode/opencode.json` (or `.jsonc`) and a plugin in `plugins/c2c.ts` beside it, for all projects. With `--project` both are below `.opencode`, only for this project; with `--project --install-global-plugin` the plugin is for all projects.",
		Quirks: []string{
			"A session that the person has left with `/new` becomes `away` at the first prompt of the next session: its mail waits until the person writes in it again. If mail begins a turn in it before that prompt, the window shows it again, and a draft moves along, unless several windows may share one server (`--port`, `serve`, `attach`).",
			"A new session can get mail from its first prompt on. In a window of `c2c start --alias <name> opencode`, without further arguments, mail that comes on the home screen begins a session. A session that is opened with `--session <id>` or `--continue` gets mail at once.",
			"If you undo a message before the model has got it, the message comes again.",
			"At its first start with a plugin OpenCode downloads a package: without a network the screen stays black for more than a minute.",
			"In OpenCode 2 the plugin is loaded and has no effect: only the MCP tools work. We could not get OpenCode 2, so it is not tested.",
		},
	}
}
