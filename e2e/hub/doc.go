// Package hub tests mail between machines that goes through a real nats-server on loopback.
package hub
