// Package machines simulates machines for tests. Each is a home directory in a network namespace of
// its own, with a switch between them. Some run sshd, and one may run a nats-server as a hub. The
// package needs Linux, the machine's own root user, and a test program that lab.Isolate has
// separated from the machine.
package machines
