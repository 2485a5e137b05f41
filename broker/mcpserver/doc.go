// Package mcpserver shows the broker to a coding client as MCP tools over
// stdio. It is the only importer of mcp-go.
//
// It keeps nothing on disk: what the tools read and change belongs to packages
// broker and inbox. Starting it, initialize and tools/list touch no file,
// because clients start throw-away copies of a server to see what it offers.
//
// One process serves one client; the functions here may be used from any number
// of goroutines.
package mcpserver
