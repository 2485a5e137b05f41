package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Tokens is what a client's own record says of the tokens of a session. The numbers are the
// client's; c2c estimates none. The zero value means that the record has none.
type Tokens struct {
	Input  int64 `json:"input"`                    // of the last request to the model, with those that came from a cache
	Output int64 `json:"output"`                   // of the answer to it
	Total  int64 `json:"session_total,omitempty"`  // of all requests of the session; 0: the record does not say it
	Window int64 `json:"context_window,omitempty"` // the most that a request may have; 0: the record does not say it
}

// TokenLines says which lines of a client's record have tokens, and in which fields. A field is its
// path in the line's JSON. In these lines the field Kind has the value Is, and the field Not, if
// there is one, is not true.
type TokenLines struct {
	File                  string // below StoredAt, if that is a directory
	Kind, Is, Not         string
	Input                 []string // the sum of these
	Output, Total, Window string
}

// maxTokens is more than any client can have counted. Records are foreign files, so a number may be
// anything.
const maxTokens = 1 << 40

// TokensOf returns what the client's record of a session says of tokens. It reads only the end of
// the record. The argument config is the directory of the client's configuration.
func (p Profile) TokensOf(config, session string) Tokens {
	if p.Tokens.Input == nil || !isPlain(session) {
		return Tokens{}
	}
	path := find(config, fmt.Sprintf(p.StoredAt, session))
	if path == "" {
		return Tokens{}
	}
	for _, limit := range []int64{64 << 10, LogTail} { // the result of a tool may be long
		lines := Tail(filepath.Join(path, p.Tokens.File), limit)
		for _, line := range slices.Backward(bytes.Split(lines, []byte("\n"))) {
			if t, ok := p.Tokens.read(line); ok {
				return t
			}
		}
		if int64(len(lines)) < limit {
			break // this was all of it
		}
	}
	return Tokens{}
}

// read returns the tokens of a line. ok is false if the line has none, or an odd number.
func (l TokenLines) read(line []byte) (t Tokens, ok bool) {
	if !bytes.Contains(line, []byte(`"`+l.Is+`"`)) || string(fieldOf(line, l.Kind)) != `"`+l.Is+`"` || string(fieldOf(line, l.Not)) == "true" {
		return t, false
	}
	ok = true
	number := func(path string) (n int64) {
		if text := fieldOf(line, path); text != nil && json.Unmarshal(text, &n) != nil || n < 0 || n > maxTokens {
			ok = false
		}
		return n
	}
	for _, path := range l.Input {
		t.Input += number(path)
	}
	t.Output, t.Total, t.Window = number(l.Output), number(l.Total), number(l.Window)
	return t, ok && t.Input > 0
}

// fieldOf returns the field of a JSON object with a path such as message.usage; nil: there is none.
func fieldOf(object []byte, path string) json.RawMessage {
	if path == "" {
		return nil
	}
	var fields map[string]json.RawMessage
	name, rest, more := strings.Cut(path, ".")
	if json.Unmarshal(object, &fields) != nil || !more {
		return fields[name]
	}
	return fieldOf(fields[name], rest)
}
