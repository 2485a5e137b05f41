// Package codex reaches an idle Codex session over the control socket of Codex's app-server, to
// which the session's terminal is connected.
//
// All this was measured on version 0.169.0, which calls a session a thread. Plain `codex` starts a
// daemon, the app-server, and becomes a client of this daemon. The daemon listens below $CODEX_HOME
// and speaks JSON-RPC over WebSocket. The request turn/start begins a turn in a loaded thread, or
// adds to the running turn. The terminal shows the text of such a request: the visible line. A
// half-typed draft stays in the prompt. If an approval dialog is open, the turn waits until it is
// closed. Untrusted text in additionalContext reaches the model as a tool's output, before the
// visible line. Codex cuts each piece above 4,000 bytes in the middle. It leaves out a piece if it
// got one under the same key before, even if the visible line of the earlier piece was lost.
//
// The receipt is the visible line itself. When the line is part of the conversation,
// thread/items/list shows it with the id that c2c gave it. A line that is added to a turn waits for
// the end of the model's answer or tool call. If the person interrupts the turn before that, the
// line is lost and never appears.
//
// The socket gives full control over Codex, but this package only starts turns and reads. It
// subscribes to no thread, answers no approval and changes no setting. Each hand-over uses a
// connection of its own.
package codex
