package client

func init() { register(cursor()) }

// cursor is Cursor, the editor and its CLI (cursor-agent). The facts are from its documentation of
// 2026-11: we could run neither of the two. A tool call does not name the conversation, so each
// process (a window of the editor, or a CLI) has one mailbox.
func cursor() Profile {
	return Profile{
		Name:        "cursor",
		Title:       "Cursor",
		Place:       8,
		Hooks:       true,
		Program:     "cursor-agent", // the program "cursor" opens the editor and ends
		Info:        "cursor",
		AliasPrefix: "cursor",
		ResultMail:  true, // its hooks only announce mail; a subagent may get the mail, because a call does not show who makes it
		ProjectEnv:  "CURSOR_PROJECT_DIR",
		ConfigDir:   ".cursor",
		Resume:      "cursor-agent --resume",
		OneShot:     []string{"-p", "--print"},
	}
}
