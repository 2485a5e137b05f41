// Package rpc parses JSON-RPC messages and batches of them, and writes answers and notifications to a client's pipe in an
// order that each client accepts.
package rpc
