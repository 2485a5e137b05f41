package client

// codex is Codex. Its threads share a daemon that has the environment of whichever terminal started
// first, so the variable may name another thread: only what Codex says in the call itself counts.
func codex() Profile {
	return Profile{
		Name:        "codex",
		SessionEnv:  "CODEX_THREAD_ID",
		TrustEnv:    false,
		AliasPrefix: "codex",
	}
}
