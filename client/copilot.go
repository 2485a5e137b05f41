package client

func init() { register(copilot()) }

// copilot is GitHub Copilot CLI. It starts an MCP server for each session, also after /clear, so
// the variable SessionEnv is always right in that server.
func copilot() Profile {
	return Profile{
		Name:          "copilot",
		Title:         "GitHub Copilot CLI",
		Package:       "@github/copilot",
		Tested:        "1.0.102",
		Place:         4,
		Hooks:         true,
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
		// Measured with 1.0.102: if a tool's answer or a shell's output has more than about 20,000
		// bytes, the model gets a file name and 500 characters. 19,122 bytes arrived whole.
		Answer:    18_000,
		Shell:     18_000,
		ConfigEnv: "COPILOT_HOME",
		ConfigDir: ".copilot",
		Resume:    "copilot --resume",
		Newest:    []string{"--continue"},
		Choose:    []string{"-r", "--resume"},
		StoredAt:  "session-state/%s/events.jsonl",
		OneShot:   []string{"-p", "--prompt"},
	}
}
