// Package codex reaches an idle Codex session over the control socket of the
// app-server that its terminal runs on.
//
// Measured on version 0.169.0: plain `codex` starts a daemon and becomes its
// client; the daemon listens below $CODEX_HOME and speaks JSON-RPC over
// WebSocket. turn/start begins a turn in a loaded thread, or joins the running
// turn. The live terminal shows it, a half-typed draft stays, and the turn waits
// behind an open approval dialog. Untrusted text in additionalContext reaches the
// model as a tool's output, before the visible line. Codex cuts each piece above
// 4,000 bytes in the middle. It leaves out a piece if it got one under the same key
// before, even if the line that came with the earlier piece was lost.
//
// The receipt is the visible line itself. When the line is part of the conversation, thread/items/list shows it with the id
// that c2c gave it. A line that joins a turn waits for the end of the model's answer or tool call. If the person interrupts
// before, the line is lost and never appears.
//
// The socket gives full control over Codex. This package only starts turns and
// reads: it subscribes to no thread, answers no approval and changes no setting.
// Each hand-over uses a connection of its own.
package codex
