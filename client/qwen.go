package client

func init() { register(qwen()) }

// qwen is Qwen Code. Its MCP server has the value of SessionEnv from the server's start, which is
// out of date after /clear or /resume. The file of the process (SessionFile) is always right. With
// -p there is no such file, but then there is only one session. For hooks and the shells of tools
// the client sets SessionEnv at each call. In a hook the variable QWEN_CODE_LAUNCHER_PID names the
// launcher, not the client; the launcher starts the client through a third process.
func qwen() Profile {
	return Profile{
		Name:          "qwen",
		Title:         "Qwen Code",
		Package:       "@qwen-code/qwen-code",
		Tested:        "0.24.4",
		Place:         5,
		Hooks:         true,
		Prompt:        true,
		Protocol:      true,
		Aliases:       []string{"qwen-code"},
		Info:          "qwen",
		AliasPrefix:   "qwen",
		InTurn:        "its hook brings the message at the next tool call, or at the end of the turn",
		SessionEnv:    "QWEN_CODE_SESSION_ID",
		TrustEnv:      true,
		ShellEnv:      true,
		SessionFile:   "sessions/%d.json",
		DetachedHooks: true,
		Inherited: []string{"QWEN_CODE", "QWEN_CODE_AGENT_ID", "QWEN_CODE_LAUNCHER_PID", "QWEN_CODE_PROMPT_ID", "QWEN_CODE_PROJECT_DIR", "QWEN_CODE_NO_RELAUNCH",
			"QWEN_CODE_MESSAGING_SOCKET", "QWEN_CODE_MESSAGING_TOKEN"},
		// With 0.24.4, if an answer has more than 25,000 characters, the model gets a file name and
		// a part. At the fifth call in a row with the same arguments, Qwen Code asks the person
		// whether the model is in a loop.
		Answer: 24_000,
		// If a command ends at once, Qwen Code silently loses all output after the first 4,096
		// bytes (a line break counts as two). If the command ends a second later, Qwen Code passes
		// on 30,000.
		Shell:     3000,
		ShellLine: 8,
		ConfigEnv: "QWEN_HOME",
		ConfigDir: ".qwen",
		Resume:    "qwen --resume",
		Newest:    []string{"-c", "--continue"},
		Choose:    []string{"-r", "--resume"},
		StoredAt:  "projects/*/chats/%s.jsonl",
		Tokens:    TokenLines{Kind: "type", Is: "assistant", Input: []string{"usageMetadata.promptTokenCount"}, Output: "usageMetadata.candidatesTokenCount"},
		OneShot:   []string{"-p", "--prompt"},
	}
}
