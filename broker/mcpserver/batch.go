package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// batchVersion is the one revision of MCP with JSON-RPC batches. Those before and behind it have one message a line or a POST.
const batchVersion = "2025-03-26"

// maxBatch bounds the messages of a batch. Its bytes are bounded as those of one message.
const maxBatch = 64

// item is one message of a batch.
type item struct {
	message
	body    json.RawMessage   // as it came
	refusal *mcp.JSONRPCError // its answer, when no handler is needed
}

func isBatch(b []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("[")) }

// parseBatch sorts the messages of a batch, in their order. A refusal is for the whole of it.
func parseBatch(b []byte) (all []item, refusal *mcp.JSONRPCError) {
	if !json.Valid(b) || !utf8.Valid(b) {
		_, refusal = parse(b)
		return nil, refusal
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.Token() // [
	for dec.More() {
		var one json.RawMessage
		if err := dec.Decode(&one); err != nil || len(all) == maxBatch {
			return nil, refuse(nil, mcp.INVALID_REQUEST, fmt.Sprintf("invalid request: a batch has %d messages at most", maxBatch))
		}
		all = append(all, parseItem(one))
	}
	if len(all) == 0 {
		return nil, refuse(nil, mcp.INVALID_REQUEST, "invalid request: an empty batch")
	}
	return all, nil
}

func parseItem(b json.RawMessage) item {
	it := item{body: b}
	it.message, it.refusal = parse(b)
	if it.id != nil && it.method == string(mcp.MethodInitialize) {
		it.refusal = refuse(it.id, mcp.INVALID_REQUEST, "invalid request: initialize may not be part of a batch")
	}
	return it
}

// refuseBatch is the answer to a batch under another revision.
func refuseBatch(version string) *mcp.JSONRPCError {
	if version == "" {
		return refuse(nil, mcp.INVALID_REQUEST, "invalid request: a batch before initialize")
	}
	return refuse(nil, mcp.INVALID_REQUEST, "invalid request: revision "+version+" of MCP has no batches, send one message at a time")
}
