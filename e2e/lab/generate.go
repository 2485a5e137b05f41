package lab

import (
	"encoding/json"
	"net/http"
	"strings"
)

// The Gemini API as Gemini CLI 0.61.0 uses it. POST
// /v1beta/models/MODEL:streamGenerateContent?alt=sse is answered with events. POST
// …:generateContent, which the client uses for small questions of its own, is answered with one
// object.

type generateBody struct {
	SystemInstruction generateContent
	Contents          []generateContent
	Tools             []struct{ FunctionDeclarations []struct{ Name string } }
}

type generateContent struct {
	Role  string         `json:"role"`
	Parts []generatePart `json:"parts"`
}

type generatePart struct {
	Text             string            `json:"text,omitempty"`
	FunctionCall     *generateCall     `json:"functionCall,omitempty"`
	FunctionResponse *generateResponse `json:"functionResponse,omitempty"`
}

type generateCall struct {
	Name string `json:"name"`
	Args any    `json:"args"`
}

type generateResponse struct {
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
}

func (m *Model) serveGenerate(w http.ResponseWriter, r *http.Request) {
	_, method, _ := strings.Cut(r.PathValue("call"), ":")
	if method == "countTokens" {
		w.Write([]byte(`{"totalTokens":100}`))
		return
	}
	var body generateBody
	reply, ok := m.receive(w, r, &body, func(request *Request) {
		request.Items = generateItems(body)
		for _, tool := range body.Tools {
			for _, function := range tool.FunctionDeclarations {
				request.Tools = append(request.Tools, function.Name)
			}
		}
	})
	switch {
	case !ok:
	case method == "streamGenerateContent":
		newStream(w).data(generateAnswer(reply))
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(generateAnswer(reply))
	}
}

func generateItems(body generateBody) (items []Item) {
	for i, content := range append([]generateContent{body.SystemInstruction}, body.Contents...) {
		i--
		role := content.Role
		switch {
		case i < 0:
			role = "system"
		case role == "model":
			role = "assistant"
		}
		for _, part := range content.Parts {
			switch {
			case part.FunctionCall != nil:
				items = append(items, Item{i, role, "functionCall", part.FunctionCall.Name, jsonText(part.FunctionCall.Args)})
			case part.FunctionResponse != nil:
				items = append(items, Item{i, "tool", "functionResponse", part.FunctionResponse.Name, responseText(*part.FunctionResponse)})
			default:
				items = append(items, Item{i, role, "text", "", part.Text})
			}
		}
	}
	return items
}

// responseText returns a tool's response. If the response has a text as its output, it returns only
// that text.
func responseText(r generateResponse) string {
	if output, ok := r.Response["output"].(string); ok {
		return output
	}
	return jsonText(r.Response)
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: it came as JSON
	}
	return string(text)
}

func generateAnswer(reply Reply) map[string]any {
	content := generateContent{Role: "model"}
	if reply.Text != "" {
		content.Parts = append(content.Parts, generatePart{Text: reply.Text})
	}
	for _, call := range reply.Calls {
		content.Parts = append(content.Parts, generatePart{FunctionCall: &generateCall{call.Name, call.Input}})
	}
	return map[string]any{
		"candidates":    []any{map[string]any{"index": 0, "content": content, "finishReason": "STOP"}},
		"usageMetadata": map[string]any{"promptTokenCount": 100 + reply.Cached, "cachedContentTokenCount": reply.Cached, "candidatesTokenCount": 20, "totalTokenCount": 120 + reply.Cached},
	}
}
