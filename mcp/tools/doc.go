// Package tools offers c2c's functions as MCP tools: what each tool takes, does and answers, over
// any transport. A peer is one client of a transport, with the state that the tools keep for the
// client. The answer to a call may also contain mail, warnings and hints.
//
// The package keeps nothing on disk: packages broker and inbox own the files that the tools read
// and change. Making the tools and listing them touches no file, because clients start throw-away
// copies of a server to see which tools it offers.
//
// A new tool is a file with an entry, which its init adds. Choose its effect with care: Codex runs
// Reads and Writes without asking. A tool that waits for something other than a lock is wrapped in
// patiently; a tool that hands over mail itself sets handsMail. Every model reads the tool's words,
// so e2e/budget and e2e/bench bound their bytes. The tests of package mcp call every tool.
package tools
