// Package owed knows what is owed for a message, how that ends, and who is told. A table (kinds)
// says when each thing is due. The Checker acts on it: one process of a root at a time, see
// LockName. The package keeps the records of owed answers, writes c2c's own messages (notices),
// keeps the dead letters and the requests for a notice, and holds the messages of agents that only
// answer each other (the loop guard). Any process may call it at any time.
package owed
