package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Effect is what a tool does to the world. Clients use it to decide whether to ask their user
// first; Codex runs only tools with the first two effects without asking.
type Effect int

const (
	Reads   Effect = iota // changes nothing (to hand over mail in an answer does not count as a change)
	Writes                // adds something, or hands something over, within this machine
	Removes               // may remove something that a person or a session wants to keep
)

type handler = func(c *toolCall, ctx context.Context) (any, error)

// Tool is a tool as clients see it, and its handler. The handler returns a value to be written as
// JSON, or a string to be sent as it is.
type Tool struct {
	Name        string
	effect      Effect
	description string
	arguments   []argument
	handle      handler
	hidden      bool // no list shows it
	patient     bool // the handler may wait for something other than a lock
}

func entry(name string, e Effect, handle handler, description string, arguments ...argument) Tool {
	return Tool{Name: name, effect: e, handle: handle, description: description, arguments: arguments}
}

func patiently(t Tool) Tool { t.patient = true; return t }

// Listed returns the tool as tools/list shows it. It sets only the hints that matter (MCP schema,
// ToolAnnotations): for a tool that only reads, the other hints mean nothing.
func (t Tool) Listed() mcp.Tool {
	no, hint := false, true
	hints := mcp.ToolAnnotation{OpenWorldHint: &no}
	switch t.effect {
	case Reads:
		hints.ReadOnlyHint = &hint
	case Writes:
		hints.DestructiveHint = &no
	case Removes:
		hints.DestructiveHint = &hint
	}
	return mcp.Tool{Name: t.Name, Description: t.description, Annotations: hints, RawInputSchema: schemaOf(t.arguments)}
}

// argument is one argument of a tool: what tools/list shows of it, and what Check demands of its
// value. Check knows a small part of JSON Schema. c2c uses no general validator, because that took
// half of the time until the server's first answer.
type argument struct {
	name     string
	required bool
	instead  string // the name of an argument that a call may have in place of this argument
	unlisted bool   // Check accepts the argument, but tools/list does not show it: an old name
	nonEmpty bool
	shown
}

// shown is the JSON Schema of an argument.
type shown struct {
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Items       *shown   `json:"items,omitempty"`
	Default     int      `json:"default,omitempty"`
	Minimum     *int     `json:"minimum,omitempty"`
	Maximum     int      `json:"maximum,omitempty"`
	MaxItems    int      `json:"maxItems,omitempty"`
}

func str(name, description string) argument {
	return argument{name: name, shown: shown{Type: "string", Description: description}}
}

func boolean(name, description string) argument {
	return argument{name: name, shown: shown{Type: "boolean", Description: description}}
}

func integer(name, description string, usual int) argument {
	return argument{name: name, shown: shown{Type: "integer", Description: description, Default: usual}}
}

func list(name, description string) argument {
	return argument{name: name, shown: shown{Type: "array", Description: description, Items: &shown{Type: "string"}}}
}

func (a argument) must() argument                { a.required = true; return a }
func (a argument) or(name string) argument       { a.instead = name; return a }
func (a argument) quiet() argument               { a.unlisted = true; return a }
func (a argument) filled() argument              { a.nonEmpty = true; return a }
func (a argument) oneOf(words []string) argument { a.Enum = words; return a }
func (a argument) atLeast(n int) argument        { a.Minimum = &n; return a }

// atMost limits a number, or the length of a list of strings.
func (a argument) atMost(n int) argument {
	if a.Type == "array" {
		a.MaxItems = n
	} else {
		a.Maximum = n
	}
	return a
}

// schemaOf returns the JSON Schema of a tool's arguments. The schema allows other arguments; Check
// rejects them.
func schemaOf(arguments []argument) json.RawMessage {
	schema := struct {
		Type       string           `json:"type"`
		Properties map[string]shown `json:"properties"`
		Required   []string         `json:"required,omitempty"`
	}{Type: "object", Properties: map[string]shown{}}
	for _, a := range arguments {
		if a.unlisted {
			continue
		}
		schema.Properties[a.name] = a.shown
		if a.required {
			schema.Required = append(schema.Required, a.name)
		}
	}
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err) // impossible: the catalog has only strings and numbers
	}
	return text
}

// Check returns an error that says what is wrong with the arguments of a call, so that the model
// can correct them.
func (t Tool) Check(arguments any) error {
	given, ok := arguments.(map[string]any)
	if !ok && arguments != nil {
		return fmt.Errorf("%s: arguments: got %s, want object", t.Name, typeOf(arguments))
	}
	var missing, wrong []string
	known := make(map[string]bool, len(t.arguments))
	for _, a := range t.arguments {
		known[a.name] = true
		v, ok := given[a.name]
		if ok {
			wrong = append(wrong, a.wrong(v)...)
		} else if _, ok := given[a.instead]; a.required && !ok {
			missing = append(missing, a.name)
		}
	}
	extra := slices.DeleteFunc(slices.Sorted(maps.Keys(given)), func(name string) bool { return known[name] })
	var all []string
	if len(missing) > 0 {
		all = append(all, "it needs "+strings.Join(missing, " and "))
	}
	if len(extra) > 0 {
		all = append(all, "it takes no "+strings.Join(extra, " and no ")+t.takes())
	}
	if all = append(all, wrong...); len(all) == 0 {
		return nil
	}
	return errors.New(t.Name + ": " + strings.Join(all, "; "))
}

// takes returns a list of the arguments that tools/list shows, as the end of a sentence; "" if
// there are none.
func (t Tool) takes() string {
	var names []string
	for _, a := range t.arguments {
		if !a.unlisted {
			names = append(names, a.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", but " + strings.Join(names, ", ")
}

func (a argument) wrong(v any) []string {
	if got := typeOf(v); got != a.Type && !(a.Type == "number" && got == "integer") {
		return []string{fmt.Sprintf("%s: got %s, want %s", a.name, got, a.Type)}
	}
	switch v := v.(type) {
	case string:
		if a.nonEmpty && strings.TrimSpace(v) == "" {
			return []string{a.name + " is empty"}
		}
		if a.Enum != nil && !slices.Contains(a.Enum, v) {
			return []string{fmt.Sprintf("%s: got %q, want one of %s", a.name, v, strings.Join(a.Enum, ", "))}
		}
	case float64:
		if a.Minimum != nil && v < float64(*a.Minimum) {
			return []string{fmt.Sprintf("%s: got %v, want %d or more", a.name, v, *a.Minimum)}
		}
		if a.Maximum > 0 && v > float64(a.Maximum) {
			return []string{fmt.Sprintf("%s: got %v, want %d or less", a.name, v, a.Maximum)}
		}
	case []any:
		if a.MaxItems > 0 && len(v) > a.MaxItems {
			return []string{fmt.Sprintf("%s: got %d, want %d or less", a.name, len(v), a.MaxItems)}
		}
		for i, item := range v {
			if got := typeOf(item); got != a.Items.Type {
				return []string{fmt.Sprintf("%s.%d: got %s, want %s", a.name, i, got, a.Items.Type)}
			}
		}
	}
	return nil
}

// typeOf returns the JSON Schema type of a value from encoding/json.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
