// Package e2e tests c2c between real clients. They are installed from npm and use fake model servers on loopback, whose
// recorded requests prove what the models saw.
//
// `make e2e` runs the tests. A plain `go test` only prints that, because the clients take almost two gigabytes.
package e2e
