// Package mcp serves c2c's tools to AI programs (clients) over the Model Context Protocol: over
// standard input and output to the one client that has started the process, and over HTTP to many
// clients. When mail comes for an idle client, the package rings: it sends a notification. A stream
// on which it can ring is the client's bell. Package tools implements the tools; package rpc parses
// and writes the messages. A revision is a version of the protocol. An MCP session is one client,
// from its request initialize on; a session of c2c is a conversation that owns a mailbox. A root is
// the directory with the mail of one project.
package mcp
