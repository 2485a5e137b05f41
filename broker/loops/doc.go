// Package loops stops agents that only answer each other: it counts the messages of a chain in which no agent has
// done other work, and holds the message that is one too many.
package loops
