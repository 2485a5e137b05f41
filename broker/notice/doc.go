// Package notice tells the sender of a message what became of it: one mail of c2c itself, once. It keeps the dead letters, which
// are messages that no mailbox takes.
package notice
