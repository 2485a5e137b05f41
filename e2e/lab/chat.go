package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// chatBody is a request of the chat completions API, which OpenCode 1.18.33, Kimi 2.1.0, Qwen
// 0.24.4 and Copilot 1.0.102 use: POST /v1/chat/completions, answered in chunks.

type chatBody struct {
	Messages []struct {
		Role    string
		Content json.RawMessage // a text or a list of parts
		Calls   []chatCall      `json:"tool_calls"`
	}
	Tools []struct{ Function struct{ Name string } }
}

type chatCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (m *Model) serveChat(w http.ResponseWriter, r *http.Request) {
	var body chatBody
	reply, ok := m.receive(w, r, &body, func(request *Request) {
		request.Items = chatItems(body)
		for _, tool := range body.Tools {
			request.Tools = append(request.Tools, tool.Function.Name)
		}
	})
	if ok {
		streamChat(r.Context(), newStream(w), reply)
	}
}

func chatItems(body chatBody) []Item {
	var items []Item
	prompt := true // all messages so far are the system prompt
	for i, message := range body.Messages {
		if prompt = prompt && message.Role == "system"; prompt {
			i = -1
		}
		for _, item := range blockItems(i, message.Role, message.Content) {
			if item.Text != "" { // the text is empty if the message only calls tools
				items = append(items, item)
			}
		}
		for _, call := range message.Calls {
			items = append(items, Item{i, message.Role, call.Type, call.Function.Name, call.Function.Arguments})
		}
	}
	return items
}

func streamChat(ctx context.Context, s stream, reply Reply) {
	id := "chatcmpl-" + nextID()
	chunk := func(delta map[string]any, reason any) {
		s.data(map[string]any{
			"id": id, "object": "chat.completion.chunk", "created": 1, "model": "lab-model",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}},
			"usage": map[string]any{"prompt_tokens": 100 + reply.Cached, "prompt_tokens_details": map[string]any{"cached_tokens": reply.Cached},
				"completion_tokens": 20, "total_tokens": 120 + reply.Cached},
		})
	}
	chunk(map[string]any{"role": "assistant", "content": reply.Text}, nil)
	reason := "stop"
	for i, call := range reply.Calls {
		arguments, _ := json.Marshal(call.Input)
		c := chatCall{Index: i, ID: "call_" + nextID(), Type: "function"}
		c.Function.Name, c.Function.Arguments = call.Name, string(arguments)
		chunk(map[string]any{"tool_calls": []any{c}}, nil)
		reason = "tool_calls"
	}
	reply.rest(ctx)
	chunk(map[string]any{}, reason)
	fmt.Fprint(s.w, "data: [DONE]\n\n")
}
