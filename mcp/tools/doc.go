// Package tools offers c2c's functions as MCP tools: what each tool takes, does and answers, over any transport. A peer is
// one client of a transport, with the state that the tools keep for the client. The answer to a call may also contain mail, warnings and
// hints.
//
// The package keeps nothing on disk: packages broker and inbox own the files that the tools read and change. Making the tools
// and listing them touches no file, because clients start throw-away copies of a server to see which tools it offers.
package tools
