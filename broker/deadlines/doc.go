// Package deadlines acts on the deadlines of messages: it removes expired messages, notifies their senders, reminds sessions of answers
// that they owe, and removes old files. One process of a root does this at a time. The files alone show what is due, so another process can
// take over at any time.
package deadlines
