// Package mcp serves c2c's tools to AI programs over the Model Context Protocol: over standard input and output to
// the one client that has started the process, and over HTTP to many clients. When mail comes for an idle client, the
// package rings: it sends a notification. A stream on which it can ring is the client's bell. Package tools implements
// the tools; package rpc parses and writes the messages.
package mcp
