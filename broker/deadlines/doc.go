// Package deadlines acts when a time is over: messages expire, senders are told, sessions are reminded, what is old is tidied
// away. One process of a root does so at a time; what is due follows from the files alone, so another one may go on at any time.
package deadlines
