// Package notice writes c2c's own messages: each tells the sender of a message, once, what became of it. The package
// also keeps the dead letters, which are messages that no mailbox takes.
package notice
