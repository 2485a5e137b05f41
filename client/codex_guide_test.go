package client

func init() {
	guides["codex"] = guide{
		Date:    "2026-11-21",
		Active:  "hooks only announce mail, after a tool call and with a prompt, because Codex takes their words for a developer's; the result of any tool of c2c brings the mail, or else its app-server does, after the turn",
		Idle:    "its app-server (`turn/start`); a session without an app-server through `codex queue`, within ten seconds",
		Last:    "a line typed into an empty prompt (`c2c start`, tmux)",
		Receipt: "the line is among the thread's items",
		Answer:  "the same hooks, once they are trusted",
		Claimed: "warned with the result of a patch or of a command with a patch, without the words of the holder; refused before it where the project asks for it. Only once its person has trusted the hook",
		Sees:    "In this recording the dialog is answered. If the model calls a tool of c2c in the turn, the message is in the result of that tool.",
		SetUp: "An MCP server in `~/.codex/config.toml`, hooks in `~/.codex/hooks.json` and a skill in `~/.codex/skills/c2c`, for all projects. At its next start Codex " +
			"says \"Hooks need review\": choose \"Trust all and continue\". Codex does not ask before its model calls a tool of c2c, unless you install with `--ask`.",
		Quirks: []string{
			"Mail at the end of a turn of `codex exec`, or of a session without the app-server, is shown under the words \"Blocked by hook\". This is not an error.",
			"As a plugin instead: `codex plugin marketplace add <c2c's source>/install/marketplace`, then `codex plugin add c2c@c2c`; " +
				"its hooks need the same review. If `c2c install` has set up the same, the plugin does nothing.",
			"A shell in Codex's sandbox can neither write mail nor use sockets: agents send with the MCP tool.",
			"Codex's model has thread tools of its own (`list_threads`, `read_thread`, `send_message_to_thread`, `wait_threads`, `create_thread`). " +
				"What they send is not mail of c2c: it has no status, `c2c history` does not show it, and it reaches no other client.",
			"While a window asks its person to trust the folder or the hooks, its session waits for its person: mail begins no turn before the answer.",
			"Codex keeps the session of a window that has closed, or that `/new` has left, for a minute. While another window is open, mail may begin a turn there that nobody sees; a session of `c2c start` whose window has closed is away at once.",
			"A prompt brings only the word that mail or new posts of rooms wait: `poll_inbox` shows them.",
			"All terminals share one daemon, which has the environment of the first terminal, so no variable names a session there. So `c2c start --alias birch codex` begins the session in the daemon, " +
				"tells its model its alias in one line, and shows it with `codex resume`. With options that do not use the daemon (`-c`, `-p`, `--search`, `--no-daemon`) `c2c start` takes no `--alias`: the session calls `register` instead. " +
				"After `/new` the window shows another session, which has an alias of its own.",
		},
	}
}
