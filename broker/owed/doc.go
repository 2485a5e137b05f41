// Package owed keeps which answers are owed: a record for each question, task or review until it is answered, and which session
// waits for whom just now. The records stand in owed/, below the root, a file for each session that owes.
package owed
