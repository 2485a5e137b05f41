package client

import (
	"path/filepath"
	"strconv"
)

func init() { register(claude(), claudeGuide) }

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

func claudeGuide() Guide {
	return Guide{
		Title: "Claude Code", Package: "@anthropic-ai/claude-code", Tested: "2.1.329", Date: "2026-11-21",
		Active:  "hooks: after a tool call, with a prompt, at the end of a turn",
		Idle:    "its socket for messages of other sessions; without c2c's MCP server, its own watch of a file",
		Last:    "a line typed into an empty prompt (`c2c start`, tmux)",
		Receipt: "its `UserPromptSubmit` hook sees the message in the prompt",
		Answer:  "its hooks after a tool call and at the end of a turn",
		Claimed: "warned with the result of the edit, with the reason of the holder; refused before the edit where the project asks for it",
		Sees:    "It shows 120 characters of a message. In this recording the dialog is declined. Mail at the end of a turn is shown whole, below `Stop hook says:`.",
		SetUp: "An MCP server in `~/.claude.json`, for all projects; a hook script, which starts no program while the mailbox is empty, and its " +
			"entries in `~/.claude/settings.json`; a mod in `~/.claude/skills/c2c`, from 2.1.305 on, with a skill that tells the model when to write, ask and answer. The rule `mcp__c2c` in `permissions.allow` lets the model " +
			"call c2c's own tools without asking; `--ask` leaves it out. Claude Code asks its person nothing about these files.",
		Quirks: []string{
			"With `--project` the server is in `.mcp.json` at the top of the repository, only for this project; the hooks are for all. Then Claude Code asks " +
				"about the server: choose \"Use this MCP server\". Enter alone means no, and Claude Code does not ask again: `c2c doctor` explains how to undo that.",
			"Claude Code does not restart an MCP server that was killed: `/mcp` or `/clear` starts it again.",
			"As a plugin instead: `claude plugin marketplace add <c2c's source>/install/marketplace`, then `claude plugin install c2c@c2c`. " +
				"The tools then have longer names, and Claude Code asks nothing. If `c2c install` has set up the same, the plugin does nothing.",
			"With the mod the client's own tools `SendMessage` and `ListAgents` also know the sessions of c2c, after the client's own sessions; " +
				"`/inbox` and the status line show the person which mail waits. Mail also arrives without the mod (tested with 2.1.240).",
			"With c2c as a channel (`c2c start --channel claude`) its permission dialogs can also be answered in another terminal or in a browser: [http.md](http.md#permission-dialogs).",
			"c2c respects `crossSessionInbound` in its settings, and `c2c status` shows it.",
			"In plan mode it asks its person before `send` and the other tools of c2c that write, in spite of the rule `mcp__c2c`.",
			"With `denyInsteadOfPrompting` in `permissions` (2.1.319) it refuses what it would ask about: `send` in plan mode, every tool after `--ask`.",
			"With `blockReadsOutsideWorkingDirectories` in `permissions` (2.1.257) its model reads a file whose path it was sent only in the project, or in " +
				"a folder of `/add-dir`; `blockWritesOutsideWorkingDirectories` (2.1.314) is the same for writing.",
			"With `disableAllHooks` in its settings c2c only rings: the mail waits for `poll_inbox`.",
		},
	}
}
