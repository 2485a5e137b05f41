// Package mcp serves the tools of c2c to coding clients: over standard input and output to the one client that has started
// the process, and over HTTP to many. The tools themselves are package tools', the messages package rpc's.
package mcp
