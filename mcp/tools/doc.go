// Package tools is the broker as MCP tools: what each takes, does and answers, for any transport. A peer is one client of a
// transport; the answer to its call brings mail, warnings and hints along.
//
// It keeps nothing on disk: what the tools read and change belongs to packages broker and inbox. To make the tools and to list
// them touches no file, because clients start throw-away copies of a server to see what it offers.
package tools
