package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// BatchVersion is the only revision of MCP with JSON-RPC batches. All others have one message in each line or POST.
const BatchVersion = "2025-03-26"

// MaxBatch bounds the number of messages in a batch. A batch has the same limit in bytes as a single message.
const MaxBatch = 64

// Item is one message of a batch.
type Item struct {
	Message
	Body    json.RawMessage   // as received
	Refusal *mcp.JSONRPCError // the error answer; nil if c2c does not refuse the message
}

func IsBatch(b []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("[")) }

// ParseBatch parses the messages of a batch and keeps their order. The result refusal, if set, is the error answer to the
// whole batch.
func ParseBatch(b []byte) (all []Item, refusal *mcp.JSONRPCError) {
	if !json.Valid(b) || !utf8.Valid(b) {
		_, refusal = Parse(b)
		return nil, refusal
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.Token() // [
	for dec.More() {
		var one json.RawMessage
		if err := dec.Decode(&one); err != nil || len(all) == MaxBatch {
			return nil, Refuse(nil, mcp.INVALID_REQUEST, fmt.Sprintf("invalid request: a batch has %d messages at most", MaxBatch))
		}
		all = append(all, parseItem(one))
	}
	if len(all) == 0 {
		return nil, Refuse(nil, mcp.INVALID_REQUEST, "invalid request: an empty batch")
	}
	return all, nil
}

func parseItem(b json.RawMessage) Item {
	it := Item{Body: b}
	it.Message, it.Refusal = Parse(b)
	if it.ID != nil && it.Method == string(mcp.MethodInitialize) {
		it.Refusal = Refuse(it.ID, mcp.INVALID_REQUEST, "invalid request: initialize may not be part of a batch")
	}
	return it
}

// RefuseBatch returns the error answer to a batch in a revision without batches. Before initialize, version is "".
func RefuseBatch(version string) *mcp.JSONRPCError {
	if version == "" {
		return Refuse(nil, mcp.INVALID_REQUEST, "invalid request: a batch before initialize")
	}
	return Refuse(nil, mcp.INVALID_REQUEST, "invalid request: revision "+version+" of MCP has no batches, send one message at a time")
}
