// Package e2e tests c2c between real clients. The clients are installed from npm and use fake model
// servers on loopback. The requests that these servers record prove what the models saw.
//
// `make e2e` runs the tests. A plain `go test` runs none and only prints that, because the clients
// take almost two gigabytes.
package e2e
