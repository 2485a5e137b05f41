// Package owed records which answers a session owes: a record for each question, task or review until it is answered. It also
// records which session waits for an answer from which other one right now. The records are in owed/ below the root, one file for
// each session that owes an answer.
package owed
