// Package rpc parses JSON-RPC messages, and writes answers and notifications to a client's pipe,
// each notification before the answer to its request.
package rpc
