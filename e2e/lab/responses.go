package lab

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
)

// The Responses API as Codex 0.169.0 uses it with a custom provider: the model answers POST
// /v1/responses with events.

type responsesBody struct {
	Instructions string
	Input        []struct {
		Type, Role, Name, Namespace string
		Content                     []struct{ Type, Text string }
		Arguments, Input            string
		Output                      json.RawMessage
	}
	Tools []struct {
		Type, Name string
	}
}

func (m *Model) serveResponses(w http.ResponseWriter, r *http.Request) {
	var body responsesBody
	reply, ok := m.receive(w, r, &body, func(request *Request) {
		request.Items = responsesItems(body)
		for _, tool := range body.Tools {
			request.Tools = append(request.Tools, tool.Name)
		}
	})
	if ok {
		streamResponse(newStream(w), reply)
	}
}

func responsesItems(body responsesBody) []Item {
	items := []Item{{-1, "system", "instructions", "", body.Instructions}}
	for i, in := range body.Input {
		switch in.Type {
		case "message":
			for _, c := range in.Content {
				items = append(items, Item{i, in.Role, c.Type, "", c.Text})
			}
		case "function_call", "custom_tool_call":
			name := in.Name
			if in.Namespace != "" {
				name = in.Namespace + "__" + name
			}
			items = append(items, Item{i, "assistant", in.Type, name, in.Arguments + in.Input})
		case "function_call_output", "custom_tool_call_output":
			items = append(items, Item{i, "tool", in.Type, in.Name, outputText(in.Output)})
		default:
			items = append(items, Item{i, in.Role, in.Type, in.Name, ""})
		}
	}
	return items
}

// outputText returns a tool's output, which is a string or a list of texts.
func outputText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	json.Unmarshal(raw, &parts)
	for _, p := range parts {
		text += p.Text
	}
	return text
}

func streamResponse(s stream, reply Reply) {
	id := "resp_" + nextID()
	s.event("response.created", map[string]any{"response": map[string]any{"id": id}})
	var output []map[string]any
	if reply.Text != "" {
		output = append(output, map[string]any{
			"type": "message", "role": "assistant", "id": "msg_" + nextID(),
			"content": []any{map[string]any{"type": "output_text", "text": reply.Text}}})
	}
	for _, call := range reply.Calls {
		arguments, _ := json.Marshal(call.Input)
		item := map[string]any{
			"type": "function_call", "id": "fc_" + nextID(), "call_id": "call_" + nextID(),
			"name": call.Name, "arguments": string(arguments)}
		if call.Namespace != "" {
			item["namespace"] = call.Namespace
		}
		output = append(output, item)
	}
	for i, item := range output {
		s.event("response.output_item.added", map[string]any{"output_index": i, "item": item})
		s.event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	s.event("response.completed", map[string]any{"response": map[string]any{
		"id": id, "output": output,
		"usage": map[string]any{
			"input_tokens": 100 + reply.Cached, "input_tokens_details": map[string]any{"cached_tokens": reply.Cached}, "output_tokens": 20,
			"output_tokens_details": nil, "total_tokens": 120 + reply.Cached},
	}})
}

func nextID() string { return rand.Text() }
