// Package hub tests mail between machines through a hub: a real nats-server on loopback.
package hub
