// Package claude reaches an idle Claude Code session over the client's own
// messaging socket, the way of its cross-session messages.
//
// Measured on version 2.1.329: the client listens on
// $CLAUDE_CODE_MESSAGING_SOCKET and takes lines of JSON, first one that
// authenticates, then messages. A message starts a turn in an idle session and
// stands beside the next tool result in a busy one; a half-typed draft stays,
// an open permission dialog is waited for. The client frames the text as a
// teammate's and not its user's. It answers nothing: what it drops (more than
// 30 at once, the same text within 30 s, a session that holds such messages
// back) it drops in silence.
//
// The proof of arrival is the UserPromptSubmit hook. It runs once for each
// line, before the request, also when lines have waited together, and its
// prompt is the line's content byte for byte, without the words that the client
// puts around it for the model. Slash commands, "@" and "!" do nothing there,
// and blanks, invisible characters and compatibility forms stay. The one thing
// that the client alters is a likeness of "<" in front of a tag of its own.
//
// In bypass-permissions mode the client asks its user about messages of
// strangers; a descendant of the client, as its MCP server is, needs no
// permission. c2c claims no permission mode of its own.
//
// What the client says of itself in <config>/sessions/<pid>.json is idle, busy
// (a turn runs) or waiting (a dialog is open); the file goes with the client.
// CLAUDE_CODE_HARBOR_KITE=0 (or false, off) turns the socket off: the client's
// children then have no socket in their environment, not even one that the
// client had from a session around it.
//
// A Socket may be used by one goroutine at a time.
package claude
