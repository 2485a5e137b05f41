// Package face tests c2c's HTTP server with programs from npm that other people have written: the
// conformance suite of MCP, and clients that are made with its SDKs.
//
// `make e2e` runs the tests. A plain `go test` runs none and only prints that.
package face
