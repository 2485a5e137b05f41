// Package face tests c2c's HTTP side with programs of others: the conformance suite of MCP, and clients that are made with
// its SDKs, all from npm.
//
// `make e2e` runs the tests. A plain `go test` only prints that.
package face
