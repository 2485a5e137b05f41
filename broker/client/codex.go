package client

// codex is Codex. Its threads share a daemon that has the environment of whichever terminal started
// first, so the variable may name another thread: only what Codex says in the call itself counts. For the
// shells of its tools it sets the variable at each call.
func codex() Profile {
	return Profile{
		Name:          "codex",
		Info:          "codex",
		AliasPrefix:   "codex",
		SessionEnv:    "CODEX_THREAD_ID",
		ShellEnv:      true,
		SessionMeta:   "threadId",
		SharedProcess: true,
		Inherited:     []string{"CODEX_SESSION_ID"},
		// Measured with 0.169.0: from 12,000 bytes on, the texts of an answer counted together, the middle is
		// cut out for a model that it has no metadata of; for gpt-5.5 from 48,000 on.
		Answer: 9500,
		// Of more than 10,000 bytes for a model that it does not know; for gpt-5.5, of 40,000.
		Shell:     9000,
		ConfigEnv: "CODEX_HOME",
		ConfigDir: ".codex",
		Resume:    "codex resume",
	}
}
