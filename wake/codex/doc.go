// Package codex reaches an idle Codex session over the control socket of the
// app-server that its terminal runs on.
//
// Measured on version 0.169.0: plain `codex` starts a daemon and becomes its
// client; the daemon listens below $CODEX_HOME and speaks JSON-RPC over
// WebSocket. turn/start begins a turn in a loaded thread, or joins the one that
// runs; it is shown in the live terminal, a half-typed draft stays and an open
// approval dialog is waited for. What goes into additionalContext as untrusted
// reaches the model as a tool's output, before the visible line. Each piece is
// cut in the middle beyond 4,000 bytes, and one that was given before under the
// same key is left out, even if the line that it came with was lost.
//
// The receipt is the visible line itself: thread/items/list shows it, with the
// id that we gave it, once it is part of the conversation. A line that joined a
// turn waits for the end of the model's answer or tool call; it is lost, and
// never shows up, when the person interrupts before.
//
// The socket is full control over Codex. This package starts turns and reads,
// and nothing else: it subscribes to no thread, answers no approval and changes
// no setting. Each hand-over is a connection of its own.
package codex
