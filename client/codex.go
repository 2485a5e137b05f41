package client

import (
	"path/filepath"
	"strings"

	"c2c/internal/proc"
)

func init() { register(codex()) }

// codex is Codex. Its threads (sessions) share a daemon, which has the environment of the terminal
// that started the daemon. Therefore the variable SessionEnv may name another thread, and only the
// thread id in an MCP call counts. For the shells of its tools Codex sets the variable at each
// call.
func codex() Profile {
	return Profile{
		Name:          "codex",
		Title:         "Codex",
		Package:       "@openai/codex",
		Tested:        "0.169.0",
		Place:         2,
		Hooks:         true,
		Prompt:        true,
		Protocol:      true,
		Info:          "codex",
		AliasPrefix:   "codex",
		InTurn:        "its hook announces the message at the next tool call; its app-server, or without that its hook, brings it when the turn ends",
		SessionEnv:    "CODEX_THREAD_ID",
		ShellEnv:      true,
		SessionMeta:   "threadId",
		SharedProcess: true,
		HooksCommand:  true,
		Daemon:        "app-server",
		StopDaemon:    "codex app-server daemon stop",
		Open:          codexOpen,
		Opening:       codexOpening,
		Inherited:     []string{"CODEX_SESSION_ID"},
		// Measured with 0.169.0: if the texts of an answer together have 12,000 bytes or more,
		// Codex cuts out the middle for a model that it does not know; for gpt-5.5 the limit is
		// 48,000.
		Answer:     9500,
		ResultMail: true, // during a turn the hooks only announce mail
		// If the output has more than 10,000 bytes, Codex passes only a part to a model that it
		// does not know; for gpt-5.5 the limit is 40,000.
		Shell:     9000,
		ConfigEnv: "CODEX_HOME",
		ConfigDir: ".codex",
		Resume:    "codex resume",
		Choose:    []string{"resume"},
		StoredAt:  "sessions/*/*/*/*-%s.jsonl",
		Tokens: TokenLines{Kind: "payload.type", Is: "token_count", Input: []string{"payload.info.last_token_usage.input_tokens"}, Output: "payload.info.last_token_usage.output_tokens",
			Total: "payload.info.total_token_usage.total_tokens", Window: "payload.info.model_context_window"},
	}
}

// CodexLine is the beginning of the line with which a ringer starts a turn. The model gets the mail
// together with that line, but Codex shows the person only the line.
const CodexLine = "c2c: mail from "

// CodexLocks is the directory in which Codex keeps a lock file for each thread, as long as the
// thread is open: <CODEX_HOME>/thread-writer-locks/<thread>.lock.
const CodexLocks = "thread-writer-locks"

// codexOpen returns the threads that a process of Codex has open. The process may also be npm's
// launcher script, whose child is Codex.
func codexOpen(pid int) (open map[string]bool, known bool) {
	open = map[string]bool{}
	add := func(pid int) bool {
		files, seen := proc.Files(pid)
		for f := range files {
			folder, file := filepath.Split(f.Path)
			if thread, ok := strings.CutSuffix(file, ".lock"); ok && filepath.Base(folder) == CodexLocks {
				open[thread] = true
			}
		}
		return seen
	}
	known = add(pid)
	for _, child := range proc.Children(pid) {
		add(child)
	}
	return open, known
}

// codexOpening is Profile.Opening for Codex. A terminal with `codex resume` first asks its person
// to trust new hooks. The daemon closes the thread after a minute, and opens it again after that
// dialog. Nothing shows which thread a terminal shows: after /new its arguments are out of date.
// But then the daemon has another thread for it. So a terminal counts only while there are more
// terminals than threads.
func codexOpening(open map[string]bool) (named map[string]bool) {
	terminals, named := 0, map[string]bool{}
	for _, pid := range proc.All() {
		if _, program := proc.Executable(pid); !strings.HasPrefix(program, "codex") {
			continue
		}
		shows := false // an MCP server of Codex has the terminal of its client, and reads a pipe
		files, _ := proc.Files(pid)
		for f := range files {
			shows = shows || f.FD == 0 && f.IsTerminal()
		}
		own, _ := codexOpen(pid) // a terminal with threads of its own uses no daemon
		if shows && len(own) == 0 {
			terminals++
			for _, arg := range proc.Args(pid) {
				named[arg] = true
			}
		}
	}
	if terminals <= len(open) {
		return nil
	}
	return named
}
