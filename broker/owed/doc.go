// Package owed records which answers a session owes: a record for each question, task or review until it is answered. It also
// records which sessions wait for an answer right now, and from which session. The records are in owed/ below the root, one file
// for each session that owes an answer.
package owed
