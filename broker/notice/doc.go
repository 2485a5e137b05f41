// Package notice writes c2c's own messages: each tells the sender of a message, once, what became of that message. The package also
// keeps the dead letters: messages that no mailbox can take, or whose session is gone.
package notice
