// Package loops stops agents that only answer each other: it counts the messages of a chain between which nobody has worked, and
// holds the one that is too many.
package loops
