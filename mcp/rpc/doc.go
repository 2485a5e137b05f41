// Package rpc takes the messages of JSON-RPC apart and writes them: lines, batches, and answers in the order in which a client
// can take them.
package rpc
