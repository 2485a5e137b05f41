package client

// kimi is Kimi Code (npm @moonshot-ai/kimi-code), not the older kimi-cli in Python. Neither a tool call nor the
// environment of its MCP server names the session: a window has one mailbox, which its hooks bind to the session that
// it shows. `kimi web` is one process for many sessions, with one MCP server. There the hooks name the session, and each
// session has a mailbox; c2c knows the session of a tool call only while there is just one.
func kimi() Profile {
	return Profile{
		Name:          "kimi",
		Aliases:       []string{"kimi-code", "kimi-cli"},
		Info:          "kimi",
		AliasPrefix:   "kimi",
		InTurn:        "its hook brings the message at the end of the turn",
		DetachedHooks: true,
		Doing:         kimiDoing,
		Servers:       "server/instances",
		// Measured with 2.1.0: if a tool's answer or a shell's output has more than 50,000 characters, the model gets a
		// file name and 5,000 of them.
		Answer:    45_000,
		Shell:     45_000,
		ConfigEnv: "KIMI_CODE_HOME",
		ConfigDir: ".kimi-code",
		Resume:    "kimi --session",
		OneShot:   []string{"-p", "--prompt"},
		Wire:      []string{"kimi", "--wire"}, // the older kimi-cli; Kimi Code does not know the option
	}
}

func kimiGuide() Guide {
	return Guide{
		Client: "kimi", Title: "Kimi Code", Package: "@moonshot-ai/kimi-code", Tested: "2.1.0", Date: "2026-11-21",
		Active:  "hooks: with a prompt and at the end of a turn; under `c2c start` a line joins the turn behind the current tool call",
		Idle:    "a line typed into an empty prompt (`c2c start`, tmux, screen); a session of `kimi web` through that server; else `c2c poll-inbox --wait --check`, which the agent runs in the background",
		Last:    "the hooks of the next prompt",
		Receipt: "the hook's answer was written",
		Answer:  "its hook at the end of a turn; its log",
		Sees:    "Idle it is rung by a line in its prompt here. Of mail at the end of a turn, also behind a dialog that is declined, it shows nothing: its model is asked to tell, and the next prompt, as here, tells its person.",
		SetUp:   "An MCP server in `~/.kimi-code/mcp.json` and hooks in `~/.kimi-code/config.toml`, for all projects.",
		Quirks: []string{
			"In its mode `manual` it asks before each call of a tool, c2c's too: it reads no rule for that from its configuration.",
			"Without `c2c start` nothing wakes it but `c2c poll-inbox --wait --check` in the background, with `disable_timeout`. When it ends Kimi Code starts a turn, whose end shows the mail; then it has to be run again.",
			"`kimi web` does not show what a terminal shows: a session that a window has open is not woken there. While it has several sessions, c2c's tools do not know which one calls, and refuse.",
			"The older kimi-cli of Python is another program, and is not set up. `c2c wire-daemon` carries mail to an agent of it that c2c starts (`kimi --wire`). That could not be had, so it was tested against its documentation and its npm client alone.",
		},
	}
}
