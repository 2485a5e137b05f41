// Package e2e shows c2c at work between real clients: they are installed from npm and run against
// fake model servers on loopback, and the recorded requests are the proof of what the models saw.
//
// `make e2e` runs it. A plain `go test` only says so: the clients are almost two gigabytes.
package e2e
