package client

func init() { register(opencode()) }

// opencode is OpenCode. It does not name the session to its MCP server. Our plugin inside OpenCode
// adds an argument with the session's id to each call, and sets the variable SessionEnv for the
// shells of tools.
func opencode() Profile {
	return Profile{
		Name:            "opencode",
		Title:           "OpenCode",
		Package:         "opencode-ai",
		Tested:          "1.18.33",
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
