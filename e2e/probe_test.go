package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// probeVerb makes the test binary an MCP server; its argument is the file that gets what it
// received.
const probeVerb = "mcp-probe"

// sized makes a text of at least n bytes that shows where it was cut.
func sized(n int, piece string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%06d %s ", i, strings.Repeat(piece, 20))
	}
	return b.String() + "probe-end"
}

// serveProbe is a stdio MCP server with one tool, "look", whose answer has the size that is asked
// for. It writes its environment as the first line of the file and then every message as it came.
func serveProbe(path string) error {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := json.NewEncoder(log).Encode(map[string]any{"env": os.Environ(), "ppid": os.Getppid()}); err != nil {
		return err
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 4<<20)
	answers := json.NewEncoder(os.Stdout)
	for input.Scan() {
		if _, err := log.WriteString(input.Text() + "\n"); err != nil {
			return err
		}
		var call struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Arguments struct {
					Size  int
					Piece string
				}
			}
		}
		if err := json.Unmarshal(input.Bytes(), &call); err != nil {
			return err
		}
		if call.ID == nil {
			continue // a notification
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": call.ID}
		switch call.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "probe", "version": "1"}}
		case "tools/list":
			answer["result"] = map[string]any{"tools": []any{map[string]any{
				"name": "look", "description": "Look.", "inputSchema": map[string]any{"type": "object"},
				"annotations": map[string]any{"readOnlyHint": true}}}}
		case "tools/call":
			text := "probe-looked"
			if a := call.Params.Arguments; a.Size > 0 {
				text = sized(a.Size, a.Piece)
			}
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "method not found"}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return input.Err()
}
