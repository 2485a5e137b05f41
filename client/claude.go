package client

import (
	"path/filepath"
	"strconv"
)

func init() { register(claude()) }

// ChannelCapability is the MCP capability of a server that pushes messages into Claude Code's
// sessions.
const ChannelCapability = "claude/channel"

// claude is Claude Code. It sets the variable SessionEnv anew for each hook and each shell of a
// tool, so the variable is right there. The MCP server has the value from the server's start, which
// is out of date after /clear or /resume. Therefore the broker first looks for a mailbox that is
// bound to the client's process, and reads the variable only if there is no such mailbox.
func claude() Profile {
	return Profile{
		Name:           "claude",
		Title:          "Claude Code",
		Package:        "@anthropic-ai/claude-code",
		Tested:         "2.1.329",
		Place:          1,
		Hooks:          true,
		Prompt:         true,
		Protocol:       true,
		Aliases:        []string{"claude-code"},
		Info:           "claude-code",
		AliasPrefix:    "claude",
		InTurn:         "its hook brings the message at the next tool call, or at the end of the turn",
		SessionEnv:     "CLAUDE_CODE_SESSION_ID",
		TrustEnv:       true,
		ShellEnv:       true,
		ProcessEnv:     "CLAUDE_PID",
		Mod:            true,
		ReadsHooksAnew: true, // measured with 2.1.329
		Doing:          ClaudeDoing,
		DoingDir:       "sessions",
		Inherited:      []string{"CLAUDECODE", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"},
		// Measured with 2.1.329: if the texts of an answer together have 50,000 UTF-16 units or
		// more, the model gets a file name and 2 KB of the text. A second limit of 25,000 tokens
		// (of about four characters each) is higher.
		Answer:       40_000,
		AnswerTokens: "MAX_MCP_OUTPUT_TOKENS",
		// Measured with 2.1.329: if the output has more than 30,000 bytes, the model gets a file
		// name and the beginning.
		Shell:     28_000,
		ShellMax:  "BASH_MAX_OUTPUT_LENGTH",
		ConfigEnv: "CLAUDE_CONFIG_DIR",
		ConfigDir: ".claude",
		Resume:    "claude --resume",
		Newest:    []string{"-c", "--continue"},
		Choose:    []string{"-r", "--resume"},
		StoredAt:  "projects/*/%s.jsonl",
		Tokens: TokenLines{Kind: "type", Is: "assistant", Not: "isSidechain", Output: "message.usage.output_tokens",
			Input: []string{"message.usage.input_tokens", "message.usage.cache_creation_input_tokens", "message.usage.cache_read_input_tokens"}},
		Channel:     ChannelCapability,
		OneShot:     []string{"-p", "--print"},
		Stream:      []string{"stream-json", "--input-format=stream-json"},
		ChannelArgs: []string{"--dangerously-load-development-channels", "server:c2c"},
	}
}

// ClaudeRecord is the file <config>/sessions/<pid>.json, in which a process of Claude Code
// describes itself.
type ClaudeRecord struct {
	PID             int
	SessionID       string
	Status          string
	StatusUpdatedAt int64 // in milliseconds
}

// ReadClaudeRecord reads a ClaudeRecord. ok is false if it is missing or damaged.
func ReadClaudeRecord(path string) (r ClaudeRecord, ok bool) {
	ok = readJSON(path, &r)
	return r, ok
}

// ClaudeDoing is Profile.Doing for Claude Code. A process of Claude Code has only one session at a
// time. Another word than these of 2.1.332 counts as not known, so that mail rings.
func ClaudeDoing(config string, pid int, _ string) (d Doing) {
	r, ok := ReadClaudeRecord(filepath.Join(config, "sessions", strconv.Itoa(pid)+".json"))
	if !ok || r.PID != pid {
		return d
	}
	switch d.Since = millis(r.StatusUpdatedAt); r.Status {
	case Busy, Idle, Waiting:
		d.Word = r.Status
	case "shell": // no turn runs, but a shell that the model has started
		d.Word, d.Background = Idle, true
	}
	return d
}
