// Package eventlog writes and reads broker.log: what has happened in a root, a line for each event, without texts of messages.
package eventlog
