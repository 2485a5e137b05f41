// Package deadlines does what has to happen when a time is over: it lets messages expire, tells their senders, reminds sessions of
// answers, and tidies old files away. One process of a root does this at a time. The files alone show what is due, so another
// process can take over at any time.
package deadlines
