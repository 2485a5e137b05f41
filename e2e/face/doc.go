// Package face shows c2c's HTTP side at work with programs of others: the conformance suite of MCP and clients that are made
// with its SDKs, all from npm.
//
// `make e2e` runs it. A plain `go test` only says so.
package face
