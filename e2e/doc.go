// Package e2e shows c2c at work between real clients: Claude Code and Codex, installed from npm, run
// against fake model servers on loopback, and the recorded requests are the proof of what the models saw.
//
// `make e2e` runs it. A plain `go test` only says so: the clients are several hundred megabytes.
package e2e
