// Package notice writes c2c's own messages: each tells the sender of a message, once, what became of it. The package also keeps the
// dead letters: messages that no mailbox can take.
package notice
