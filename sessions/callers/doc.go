// Package callers finds the session that a command, a hook or a tool call belongs to, or makes one. It identifies a caller by the
// name that it gives, by its process and that process's ancestors, and by its client's variables.
package callers
