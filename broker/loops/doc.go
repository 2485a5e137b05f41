// Package loops stops agents that only answer each other. It counts messages in a row, each sent because of the one before, without
// other work in between. It holds the message that is one too many.
package loops
