// Package claude reaches an idle Claude Code session over the client's own messaging socket, which
// carries messages between sessions.
//
// All this was measured on version 2.1.329. The client listens on $CLAUDE_CODE_MESSAGING_SOCKET and
// takes lines of JSON. The first line authenticates the sender, and each other line is a message. A
// message starts a turn in an idle session; in a busy session it comes with the next tool result. A
// half-typed draft stays in the prompt. If a permission dialog is open, the message waits until it
// is closed. The client tells the model that the text is from a teammate, not from its user. The
// client never answers on the socket. It silently drops messages above 30 at once, a text that it
// got in the last 30 s, and every message if its person blocks messages of other sessions.
//
// The proof of arrival is the client's UserPromptSubmit hook. The hook runs once for each line,
// before the request to the model, even if several lines have waited. The prompt that the hook gets
// is the content of the line byte for byte, without the words that the client puts around it for
// the model. In such a line, slash commands, "@" and "!" do nothing, and the client keeps blanks,
// invisible characters and compatibility forms. It alters only a character that looks like "<", if
// one of the client's own tags follows.
//
// In bypass-permissions mode the client asks its user before it takes messages of unrelated
// processes. It takes messages of its own descendants, such as its MCP server, without asking. The
// messages of c2c state no permission mode.
//
// The client writes into <config>/sessions/<pid>.json whether it is idle, busy (a turn runs) or
// waiting (a dialog is open). At its end it removes the file. CLAUDE_CODE_HARBOR_KITE=0 (or false,
// off) turns the socket off. Then the client's children have no socket in their environment, not
// even one that the client has inherited from an outer session.
//
// One goroutine at a time may use a Socket.
package claude
