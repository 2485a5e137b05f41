// Package owed records which answers a session owes: it has one record for each question, task or review that is not answered yet. Such a
// debt is called an obligation. The package also records which sessions wait for an answer right now, and from whom. The records are in
// owed/ below the root, in one file for each session that owes an answer.
package owed
