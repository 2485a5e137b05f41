package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// Tokens is what a client's own record says of the tokens of a session. The numbers are the
// client's; c2c estimates none. The zero value means that the record has none.
type Tokens struct {
	Input  int64 `json:"input"`                    // of the last request to the model, with those that came from a cache
	Output int64 `json:"output"`                   // of the answer to it
	Total  int64 `json:"session_total,omitempty"`  // of all requests of the session; 0: the record does not say it
	Window int64 `json:"context_window,omitempty"` // the most that a request may have; 0: the record does not say it
}

// maxTokens is more than any client can have counted. Records are foreign files, so a number may be
// anything.
const maxTokens = 1 << 40

func (t Tokens) isPlausible() bool {
	return t.Input > 0 && sumOf(t.Input, t.Output, t.Total, t.Window) > 0
}

// sumOf adds numbers of a record. It returns -1 if one of them is not plausible.
func sumOf(all ...int64) (sum int64) {
	for _, n := range all {
		if n < 0 || n > maxTokens {
			return -1
		}
		sum += n
	}
	return sum
}

// TokensOf returns what the client's record of a session says of tokens. It reads only the end of
// the record. The argument config is the directory of the client's configuration.
func (p Profile) TokensOf(config, session string) Tokens {
	if p.Tokens == nil || !isPlain(session) {
		return Tokens{}
	}
	path := find(config, fmt.Sprintf(p.StoredAt, session))
	if path == "" {
		return Tokens{}
	}
	path = filepath.Join(path, p.TokensIn)
	for _, limit := range []int64{64 << 10, LogTail} { // the result of a tool may be long
		lines := Tail(path, limit)
		for rest := lines; len(rest) > 0; {
			begin := bytes.LastIndexByte(rest[:len(rest)-1], '\n') + 1
			if t := p.Tokens(rest[begin:]); t.isPlausible() {
				return t
			}
			rest = rest[:begin]
		}
		if int64(len(lines)) < limit {
			break // this was all of it
		}
	}
	return Tokens{}
}

// tokensIn makes a function for Profile.Tokens: T is the form of the lines with tokens, and each of
// them contains mark. Other lines are not parsed, because they may be long.
func tokensIn[T interface{ tokens() Tokens }](mark string) func(line []byte) Tokens {
	return func(line []byte) Tokens {
		var r T
		if !bytes.Contains(line, []byte(mark)) || json.Unmarshal(line, &r) != nil {
			return Tokens{}
		}
		return r.tokens()
	}
}
