package client

func init() { register(gemini()) }

// gemini is Gemini CLI. It names the session only to its hooks. So c2c finds the session of the MCP
// server and of a tool's shell by the client's process, which stays the same after /clear and
// /resume. The client starts a second process of itself; the second process has the session.
func gemini() Profile {
	return Profile{
		Name:        "gemini",
		Title:       "Gemini CLI",
		Package:     "@google/gemini-cli",
		Tested:      "0.61.0",
		Place:       7,
		Hooks:       true,
		Prompt:      true,
		Aliases:     []string{"gemini-cli"},
		Info:        "gemini",
		AliasPrefix: "gemini",
		InTurn:      "its hook brings the message at the next tool call, or at the end of the turn",
		ChildHooks:  true,
		Typed:       true,
		Inherited:   []string{"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_PLANS_DIR"},
		// With 0.61.0, if a text has more than 40,000 characters, the model gets the first fifth,
		// the last part, and a file name. In a shell's output the mail that a hook adds counts,
		// too.
		Answer: 38_000,
		// Gemini CLI takes JSON in the first text of an answer for structured content, which must
		// be an object.
		NoArrays:        true,
		Shell:           15_000,
		ConfigParentEnv: "GEMINI_CLI_HOME",
		ConfigDir:       ".gemini",
		Resume:          "gemini --resume",
		Choose:          []string{"-r", "--resume"},
		StoredAt:        "tmp/*/chats/*-%.8s.jsonl",
		Tokens:          TokenLines{Kind: "type", Is: "gemini", Input: []string{"tokens.input"}, Output: "tokens.output"},
		OneShot:         []string{"-p", "--prompt"},
	}
}
