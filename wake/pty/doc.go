// Package pty runs a client in a terminal of its own, inside the person's: what
// they type goes to it, what it draws goes to them, byte for byte. Size, exit
// status, signals and suspension are those of the client.
//
// Nothing is typed into it here, and nothing is kept on disk.
package pty
