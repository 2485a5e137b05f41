// Package mcp serves c2c's tools to AI programs over the Model Context Protocol: over standard input and output to
// the one client that has started the process, and over HTTP to many clients. Package tools has the tools, package
// rpc the messages.
package mcp
