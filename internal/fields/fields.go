// Package fields reads the fields of a JSON object one by one, in their order, so that a caller can
// keep the fields that it does not know. The token decoder of encoding/json keeps the order, too,
// but it took three times as long for many messages.
package fields

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

var (
	errNoObject = errors.New("not a JSON object")
	errNotWhole = errors.New("JSON that is cut off or damaged")
)

// The function Each calls f for each field of an object, and stops at the first error. The value
// that f gets has no space around it, and shares the memory of data. Each returns an error if data
// is truncated or not JSON, but it does not find every fault within a value.
func Each(data []byte, f func(name string, value json.RawMessage) error) error {
	data = space(data)
	if !begins(data, '{') {
		return errNoObject
	}
	data = space(data[1:])
	for more := !begins(data, '}'); more; {
		quoted, rest := cut(data)
		if rest = space(rest); !begins(rest, ':') {
			return errNotWhole
		}
		value, rest := cut(space(rest[1:]))
		if len(value) == 0 {
			return errNotWhole
		}
		name, err := Text(quoted)
		if err != nil {
			return err
		}
		if err := f(name, value); err != nil {
			return err
		}
		data = space(rest)
		if more = begins(data, ','); more {
			data = space(data[1:])
		}
	}
	if !begins(data, '}') || len(space(data[1:])) > 0 {
		return errNotWhole
	}
	return nil
}

func begins(data []byte, c byte) bool { return len(data) > 0 && data[0] == c }

// Text reads a JSON string, or returns an error if the value is no string.
func Text(value json.RawMessage) (s string, err error) {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' && bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1 : n-1]), nil // nearly every string
	}
	if !begins(value, '"') {
		return "", errors.New("not a string")
	}
	err = json.Unmarshal(value, &s)
	return s, err
}

// Texts reads an array of JSON strings; for an element null it returns the empty string.
func Texts(value json.RawMessage) (all []string, err error) {
	if !begins(space(value), '[') {
		return nil, errors.New("not an array")
	}
	if err := json.Unmarshal(value, &all); err != nil {
		return nil, err
	}
	return all, nil
}

// AppendText appends s as a JSON string. It does not escape characters for HTML, because that makes
// a file longer, and the OCaml c2c limits the size of a file.
func AppendText(b []byte, s string) []byte {
	if !plain(s) {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.Encode(s) // a string into memory cannot fail
		return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// AppendSeconds appends a time in seconds, always with a fraction, because the OCaml c2c refuses a
// file in which a time is an integer.
func AppendSeconds(b []byte, s float64) []byte {
	n := len(b)
	b = strconv.AppendFloat(b, s, 'f', -1, 64)
	if bytes.IndexByte(b[n:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// plain reports whether s is printable ASCII without quote and backslash, which needs no escape in
// JSON.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func space(data []byte) []byte {
	for len(data) > 0 && (data[0] == ' ' || data[0] == '\n' || data[0] == '\t' || data[0] == '\r') {
		data = data[1:]
	}
	return data
}

// cut splits data after its first value. The result value is empty if data does not begin with a
// value. It is all of data if the value has no end.
func cut(data []byte) (value json.RawMessage, rest []byte) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			i += quoted(data[i:]) - 1
			if depth == 0 {
				return data[:i+1], data[i+1:]
			}
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return data[:i], data[i:]
			}
			if depth--; depth == 0 {
				return data[:i+1], data[i+1:]
			}
		case depth == 0 && (c == ',' || c == ':' || c <= ' '):
			return data[:i], data[i:]
		}
	}
	return data, nil
}

// quoted returns the length of the JSON string at the beginning of data, with its quotes.
func quoted(data []byte) int {
	for i := 1; ; i++ {
		end := bytes.IndexByte(data[i:], '"')
		if end < 0 {
			return len(data)
		}
		i += end
		back := 0 // the number of backslashes before the quote; an odd number escapes the quote
		for data[i-1-back] == '\\' {
			back++
		}
		if back%2 == 0 {
			return i + 1
		}
	}
}
