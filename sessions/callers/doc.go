// Package callers says whose session a call of a command, a hook or a tool belongs to, and makes or finds the session of a
// caller that has none. A caller is known by what it names, by its process and the processes above it, and by its client's variables.
package callers
