// Package hub tests mail between machines through a real nats-server on loopback.
package hub
