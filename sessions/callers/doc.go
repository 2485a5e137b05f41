// Package callers finds the session to which a command, a hook or a tool call belongs, or makes a
// new session. It identifies a caller by a name that the caller gives, by the caller's process and
// its ancestors, and by environment variables of the AI program (the client).
package callers
