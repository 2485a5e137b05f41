package client

func init() { register(kimi()) }

// kimi is Kimi Code (npm @moonshot-ai/kimi-code), not the older kimi-cli in Python. Neither a tool
// call nor the environment of the MCP server names the session. So a window has one mailbox, and
// its hooks bind the mailbox to the session that the window shows. `kimi web` is one process for
// many sessions, with one MCP server. There the hooks name the session, and each session has a
// mailbox. But c2c knows the session of a tool call only as long as there is only one session.
func kimi() Profile {
	return Profile{
		Name:           "kimi",
		Title:          "Kimi Code",
		Package:        "@moonshot-ai/kimi-code",
		Tested:         "2.1.0",
		Place:          6,
		Hooks:          true,
		Prompt:         true,
		Protocol:       true,
		Aliases:        []string{"kimi-code", "kimi-cli"},
		Info:           "kimi",
		AliasPrefix:    "kimi",
		InTurn:         "its hook brings the message at the end of the turn",
		DetachedHooks:  true,
		Typed:          true,
		Doing:          kimiDoing,
		Servers:        "server/instances",
		MailedWarnings: true,
		// Measured with 2.1.0: if a tool's answer or a shell's output has more than 50,000
		// characters, the model gets a file name and 5,000 characters.
		Answer:    45_000,
		Shell:     45_000,
		ConfigEnv: "KIMI_CODE_HOME",
		ConfigDir: ".kimi-code",
		Resume:    "kimi --session",
		Newest:    []string{"-c", "-C", "--continue"},
		Choose:    []string{"-S", "-r", "--session", "--resume"},
		StoredAt:  "sessions/*/%s",
		Tokens: TokenLines{File: "agents/" + KimiOwn + "/" + KimiLog, Kind: "event.type", Is: "step.end", Output: "event.usage.output",
			Input: []string{"event.usage.inputOther", "event.usage.inputCacheRead", "event.usage.inputCacheCreation"}},
		OneShot: []string{"-p", "--prompt"},
		Wire:    []string{"kimi", "--wire"}, // the older kimi-cli; Kimi Code does not know the option
	}
}
