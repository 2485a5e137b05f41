package client

// kimi is Kimi Code (npm @moonshot-ai/kimi-code), not the older kimi-cli of Python. Nothing in a tool call or in the
// environment of its MCP server says the session: a window has one mailbox, which its hooks bind to the session that
// it shows.
func kimi() Profile {
	return Profile{
		Name:          "kimi",
		Aliases:       []string{"kimi-code", "kimi-cli"},
		Info:          "kimi",
		AliasPrefix:   "kimi",
		DetachedHooks: true,
		// Measured with 2.1.0, of a tool's answer as of a shell's output: of more than 50,000 characters the model gets a
		// file name and 5,000 of them.
		Answer:    45_000,
		Shell:     45_000,
		ConfigEnv: "KIMI_CODE_HOME",
		ConfigDir: ".kimi-code",
		Resume:    "kimi --session",
		OneShot:   []string{"-p", "--prompt"},
	}
}
