// Package explain says what became of a message, what keeps it from being read, and what somebody can do about that: of one
// message, of what is owed, and of a whole root.
package explain
