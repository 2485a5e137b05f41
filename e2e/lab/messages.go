package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// The Messages API as Claude Code 2.1.329 uses it: the model answers POST /v1/messages?beta=true
// with events.

// messagesBody is the part of a request that the model sees.
type messagesBody struct {
	System   json.RawMessage
	Stream   bool
	Tools    []struct{ Name string }
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// messagesBlock is one content block. A tool_result has further blocks in Content.
type messagesBlock struct {
	Type, Text, Name string
	Input            json.RawMessage
	Content          json.RawMessage
}

func (m *Model) serveMessages(w http.ResponseWriter, r *http.Request) {
	var body messagesBody
	reply, ok := m.receive(w, r, &body, func(request *Request) {
		request.Items = messagesItems(body)
		for _, tool := range body.Tools {
			request.Tools = append(request.Tools, tool.Name)
		}
	})
	if !ok {
		return
	}
	if body.Stream {
		streamMessage(r.Context(), newStream(w), reply)
		return
	}
	message := messageStart(reply)
	message["content"], message["stop_reason"] = messageBlocks(reply)
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(message)
}

func serveTokenCount(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, `{"input_tokens":100}`)
}

func messagesItems(body messagesBody) []Item {
	items := blockItems(-1, "system", body.System)
	for i, message := range body.Messages {
		items = append(items, blockItems(i, message.Role, message.Content)...)
	}
	return items
}

// blockItems flattens content, which is a string or a list of blocks, into items.
func blockItems(message int, role string, content json.RawMessage) []Item {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []Item{{Message: message, Role: role, Kind: "text", Text: text}}
	}
	var blocks []messagesBlock
	json.Unmarshal(content, &blocks)
	var items []Item
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			items = append(items, Item{message, role, b.Type, b.Name, string(b.Input)})
		case "tool_result":
			for _, item := range blockItems(message, "tool", b.Content) {
				item.Kind = b.Type
				items = append(items, item)
			}
		default:
			items = append(items, Item{message, role, b.Type, "", b.Text})
		}
	}
	return items
}

func messageStart(reply Reply) map[string]any {
	return map[string]any{
		"id": "msg_" + nextID(), "type": "message", "role": "assistant", "model": "claude-lab",
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 100, "cache_read_input_tokens": reply.Cached, "output_tokens": 1},
	}
}

// messageBlocks returns a reply as content blocks, and its stop reason.
func messageBlocks(reply Reply) ([]map[string]any, string) {
	var blocks []map[string]any
	if reply.Text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": reply.Text})
	}
	reason := "end_turn"
	for _, call := range reply.Calls {
		blocks = append(blocks, map[string]any{
			"type": "tool_use", "id": "toolu_" + nextID(), "name": call.Name, "input": call.Input})
		reason = "tool_use"
	}
	return blocks, reason
}

func streamMessage(ctx context.Context, s stream, reply Reply) {
	s.event("message_start", map[string]any{"message": messageStart(reply)})
	blocks, reason := messageBlocks(reply)
	for i, block := range blocks {
		var delta map[string]any
		if block["type"] == "text" {
			delta = map[string]any{"type": "text_delta", "text": block["text"]}
			block = map[string]any{"type": "text", "text": ""}
		} else {
			input, _ := json.Marshal(block["input"])
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
			block["input"] = map[string]any{}
		}
		s.event("content_block_start", map[string]any{"index": i, "content_block": block})
		s.event("content_block_delta", map[string]any{"index": i, "delta": delta})
		s.event("content_block_stop", map[string]any{"index": i})
	}
	reply.rest(ctx)
	s.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 20},
	})
	s.event("message_stop", map[string]any{})
}
