// Package callers finds the session that a command, a hook or a tool call belongs to, or makes one. It knows a caller
// by what the caller names, by its process and the ancestors of that, and by the variables of its client.
package callers
