// Package codex reaches an idle Codex session over the control socket of the
// app-server that its terminal runs on.
//
// Measured on version 0.169.0: plain `codex` starts a daemon and becomes its
// client; the daemon listens below $CODEX_HOME and speaks JSON-RPC over
// WebSocket. turn/start begins a turn in a loaded thread, or joins the running
// turn. The live terminal shows it, a half-typed draft stays, and the turn waits
// behind an open approval dialog. Untrusted text in additionalContext reaches the
// model as a tool's output, before the visible line. Codex cuts each piece in the
// middle beyond 4,000 bytes, and leaves out a piece that it got before under the
// same key, even if the line that came with it was lost.
//
// The receipt is the visible line itself: thread/items/list shows it, with the
// id that we gave it, once it is part of the conversation. A line that joins a
// turn waits for the end of the model's answer or tool call. If the person
// interrupts before, the line is lost, and never shows up.
//
// The socket gives full control over Codex. This package only starts turns and
// reads: it subscribes to no thread, answers no approval and changes no setting.
// Each hand-over uses a connection of its own.
package codex
