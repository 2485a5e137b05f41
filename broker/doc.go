// This part finds out what has happened to a message, why it is not read or answered yet, and what a person can do about that. It
// does so for one message, for the answers that a session owes, and for a whole root.

package broker
