package client

// opencode is OpenCode. It tells its MCP server nothing of the session; a plugin of ours in it adds an argument
// to each call, and sets the variable for the shells of its tools.
func opencode() Profile {
	return Profile{
		Name:            "opencode",
		Info:            "opencode",
		AliasPrefix:     "opencode",
		SessionEnv:      "C2C_OPENCODE_SESSION_ID",
		ShellEnv:        true,
		SessionArgument: "_session_id",
		SharedProcess:   true,
		Plugin:          true,
		Inherited:       []string{"OPENCODE", "OPENCODE_PID", "OPENCODE_RUN_ID", "OPENCODE_PROCESS_ROLE"},
		// Measured with 1.18.33: of more than 51,200 bytes or 2,000 lines, of a tool's answer as of a shell's output,
		// the model gets a file name and some of it.
		Answer:          48_000,
		Shell:           48_000,
		ShellLine:       25,
		ConfigParentEnv: "XDG_CONFIG_HOME",
		ConfigDir:       ".config/opencode",
		Resume:          "opencode --session",
		OneShot:         []string{"run"},
	}
}
