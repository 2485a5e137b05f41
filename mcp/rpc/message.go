package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// ErrLineTooLong is returned by ReadLine after it has skipped a line over its limit.
var ErrLineTooLong = errors.New("line too long")

// ReadLine returns the next line that is not blank, without white space around it. A last line
// without a line end counts as a line. ReadLine skips a line of more than limit bytes and returns
// ErrLineTooLong; the caller may then call it again.
func ReadLine(r *bufio.Reader, limit int) ([]byte, error) {
	for {
		var l []byte
		var err error
		long := false
		for {
			var part []byte
			part, err = r.ReadSlice('\n')
			if long = long || len(l)+len(part) > limit; !long {
				l = append(l, part...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if long {
			return nil, ErrLineTooLong
		}
		if l = bytes.TrimSpace(l); len(l) > 0 {
			return l, nil // the next call returns the read error again
		}
		if err != nil {
			return nil, err
		}
	}
}

// Message is one JSON-RPC message from the client.
type Message struct {
	Raw    json.RawMessage
	ID     json.RawMessage // nil: a notification or a response; these get no answer
	Method string
}

// Parse parses a message. If the message is not valid, the result refusal is the error answer. If
// the caller should ignore the message, both results are zero.
func Parse(b []byte) (m Message, refusal *mcp.JSONRPCError) {
	if !json.Valid(b) { // also false for nesting deeper than 10,000
		return m, Refuse(nil, mcp.PARSE_ERROR, "parse error: the line is not JSON")
	}
	if !utf8.Valid(b) { // decoding would replace invalid bytes, and so change the text
		return m, Refuse(nil, mcp.PARSE_ERROR, "parse error: the line is not UTF-8")
	}
	var head struct {
		JSONRPC any             `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return m, Refuse(nil, mcp.INVALID_REQUEST, "invalid request: want one JSON-RPC object at a time, no batch")
	}
	if string(head.ID) == "null" {
		head.ID = nil
		if head.Method != "" && !strings.HasPrefix(head.Method, "notifications/") {
			return m, Refuse(nil, mcp.INVALID_REQUEST, "invalid request: the id is null") // the client waits for an answer
		}
	}
	switch {
	case head.Method != "" && head.ID == nil:
		// A notification never gets an answer, not even an error: Codex closes the connection when
		// it gets one.
		if head.JSONRPC != mcp.JSONRPC_VERSION {
			return m, nil
		}
	case head.Result != nil || head.Error != nil:
		return m, nil // a response: only the HTTP transport sends requests, and it reads the responses itself
	case head.ID != nil && !isID(head.ID):
		return m, Refuse(nil, mcp.INVALID_REQUEST, "invalid request: the id is neither a string nor a number")
	case head.Method == "":
		return m, Refuse(head.ID, mcp.INVALID_REQUEST, "invalid request: no method")
	case head.JSONRPC != mcp.JSONRPC_VERSION:
		return m, Refuse(head.ID, mcp.INVALID_REQUEST, `invalid request: jsonrpc is not "2.0"`)
	}
	return Message{Raw: b, ID: head.ID, Method: head.Method}, nil
}

func isID(b json.RawMessage) bool {
	return b[0] == '"' || b[0] == '-' || '0' <= b[0] && b[0] <= '9'
}

// Cancelled returns the id of the cancelled request if the message is the notification
// notifications/cancelled, otherwise "".
func (m Message) Cancelled() string {
	var n struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if m.Method != string(mcp.MethodNotificationCancelled) || json.Unmarshal(m.Raw, &n) != nil {
		return ""
	}
	return string(n.Params.RequestID)
}

func Refuse(id json.RawMessage, code int, text string) *mcp.JSONRPCError {
	e := mcp.NewJSONRPCError(mcp.NewRequestId(nil), code, text, nil)
	if id != nil {
		e.ID = mcp.NewRequestId(id)
	}
	return &e
}

// Version returns the protocol version that a message names in its _meta; "" if it names none.
func (m Message) Version() (version string) {
	m.meta(mcp.MetaKeyProtocolVersion, &version)
	return version
}

// ClientName returns the name that the client gives itself in the _meta of a message; "" if the
// message has no name.
func (m Message) ClientName() string {
	var info struct{ Name string }
	m.meta(mcp.MetaKeyClientInfo, &info)
	return info.Name
}

// meta reads a member of _meta into value. If the member is missing or has another type, value
// stays as it is.
func (m Message) meta(key string, value any) {
	var head struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(m.Raw, &head) == nil {
		_ = json.Unmarshal(head.Params.Meta[key], value)
	}
}

// IsStateless reports whether a revision of MCP has no sessions.
func IsStateless(version string) bool {
	return mcp.IsModernProtocol(version) && mcp.IsValidProtocolVersion(version)
}
