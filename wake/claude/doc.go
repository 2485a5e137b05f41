// Package claude reaches an idle Claude Code session over the client's own
// messaging socket, which carries its cross-session messages.
//
// Measured on version 2.1.329: the client listens on
// $CLAUDE_CODE_MESSAGING_SOCKET and takes lines of JSON: the first line
// authenticates, the others are messages. A message starts a turn in an idle
// session; in a busy one it comes with the next tool result. A half-typed draft
// stays, and the message waits behind an open permission dialog. The client
// presents the text as a teammate's, not its user's. It never answers. It
// silently drops messages above 30 at once, a text that it got in the last 30 s,
// and every message if its person blocks messages of other sessions.
//
// The proof of arrival is the UserPromptSubmit hook. It runs once for each line, before the request, even if several lines
// have waited. Its prompt is the line's content byte for byte, without the words that the client puts around it for the
// model. Slash commands, "@" and "!" do nothing in such a line, and blanks, invisible characters and compatibility forms
// stay. The client alters only a character that looks like "<" in front of one of its own tags.
//
// In bypass-permissions mode the client asks its user before it takes messages of unrelated processes. It takes messages of
// its own descendants, such as its MCP server, without asking. c2c claims no permission mode of its own.
//
// The client writes into <config>/sessions/<pid>.json whether it is idle, busy
// (a turn runs) or waiting (a dialog is open), and removes the file at its end.
// CLAUDE_CODE_HARBOR_KITE=0 (or false, off) turns the socket off: the client's
// children then have no socket in their environment, not even one that the
// client has inherited from an outer session.
//
// One goroutine at a time may use a Socket.
package claude
