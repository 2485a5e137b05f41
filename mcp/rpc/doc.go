// Package rpc parses and writes JSON-RPC messages: lines, batches, and answers in an order that each client accepts.
package rpc
