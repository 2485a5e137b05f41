package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

type handler = func(c *toolCall, ctx context.Context) (any, error)

// Tool is a tool as clients see it, and its handler. The handler returns a value to be written as
// JSON, or a string to be sent as it is.
type Tool struct {
	Name        string
	description string
	arguments   []argument
	handle      handler
	set         map[string]any // arguments that each call has, see old
	hidden      bool           // it can be called, but no list shows it
	reads       bool           // it changes nothing: clients may run it without asking their user
	patient     bool           // the handler may wait for something other than a lock
}

func entry(name string, handle handler, description string, arguments ...argument) Tool {
	return Tool{Name: name, handle: handle, description: description, arguments: arguments}
}

// hidden returns a tool that no list shows, for operators.
func hidden(name string, handle handler, arguments ...argument) Tool {
	return Tool{Name: name, handle: handle, arguments: arguments, hidden: true}
}

// old returns the tool t under a name of the OCaml c2c or of an earlier version. Older prompts and
// permission rules have that name. Each call of it has the arguments in set.
func (t Tool) old(name string, set map[string]any) Tool {
	t.Name, t.set, t.hidden = name, set, true
	return t
}

// Hidden reports whether no list shows the tool.
func (t Tool) Hidden() bool { return t.hidden }

func onlyReads(t Tool) Tool { t.reads = true; return t }
func patiently(t Tool) Tool { t.patient = true; return t }

// Listed returns the tool as tools/list shows it. It sets only the hints that matter (MCP schema,
// ToolAnnotations): for a tool that only reads, the other hints mean nothing. Codex asks before a
// tool that has neither readOnlyHint nor both of the others.
func (t Tool) Listed() mcp.Tool {
	no, yes := false, true
	hints := mcp.ToolAnnotation{DestructiveHint: &no, OpenWorldHint: &no}
	if t.reads {
		hints = mcp.ToolAnnotation{ReadOnlyHint: &yes}
	}
	return mcp.Tool{Name: t.Name, Description: t.description, Annotations: hints, RawInputSchema: schemaOf(t.arguments)}
}

// argument is one argument of a tool: what tools/list shows of it, and what Arguments demands of
// its value. Arguments knows a small part of JSON Schema. c2c uses no general validator, because
// that took half of the time until the server's first answer.
type argument struct {
	name     string
	names    []string // other names for it
	required bool
	unlisted bool // a call may have the argument, but tools/list does not show it
	nonEmpty bool
	shown
}

// shown is the JSON Schema of an argument.
type shown struct {
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Items       *shown   `json:"items,omitempty"`

	// A call that breaks these is told so: no model has to read them before.
	Minimum  *int `json:"-"`
	Maximum  int  `json:"-"`
	MaxItems int  `json:"-"`
}

func str(name, description string) argument {
	return argument{name: name, shown: shown{Type: "string", Description: description}}
}

func boolean(name, description string) argument {
	return argument{name: name, shown: shown{Type: "boolean", Description: description}}
}

func integer(name string) argument {
	return argument{name: name, shown: shown{Type: "integer"}}
}

// number is an argument with a number that may have a fraction, such as a time.
func number(name, description string) argument {
	return argument{name: name, shown: shown{Type: "number", Description: description}}
}

func list(name, description string) argument {
	return argument{name: name, shown: shown{Type: "array", Description: description, Items: &shown{Type: "string"}}}
}

// sessionID is the argument session_id. The tools find the session without it, but older prompts
// give it. The value must be the id of the caller's session.
func sessionID() argument { return str("session_id", "").quiet() }

func limit() argument { return integer("limit").atLeast(0) }

func (a argument) must() argument                { a.required = true; return a }
func (a argument) or(names ...string) argument   { a.names = names; return a }
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

// schemaOf returns the JSON Schema of a tool's arguments. The schema allows other arguments;
// Arguments rejects those that the tool does not have.
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

// Arguments returns the arguments of a call by their own names. The error says what is wrong with
// them, so that the model can correct them.
func (t Tool) Arguments(arguments any) (map[string]any, error) {
	given, ok := arguments.(map[string]any)
	if !ok && arguments != nil {
		return nil, fmt.Errorf("%s: arguments: got %s, want object", t.Name, typeOf(arguments))
	}
	rest, values := maps.Clone(given), map[string]any{}
	var missing, wrong []string
	for _, a := range t.arguments {
		as := "" // the name by which the call gives the argument
		for _, name := range append([]string{a.name}, a.names...) {
			v, ok := rest[name]
			if delete(rest, name); !ok {
				continue
			}
			if as != "" && !reflect.DeepEqual(v, values[a.name]) {
				wrong = append(wrong, fmt.Sprintf("%s and %s have the same meaning, and their values differ: give only one", as, name))
			}
			as, values[a.name] = name, v
			wrong = append(wrong, a.wrong(name, v)...)
		}
		if v, ok := t.set[a.name]; ok {
			values[a.name] = v
		} else if a.required && as == "" {
			missing = append(missing, a.name)
		}
	}
	var all []string
	if len(missing) > 0 {
		all = append(all, "it needs "+strings.Join(missing, " and "))
	}
	if len(rest) > 0 {
		all = append(all, "it takes no "+strings.Join(slices.Sorted(maps.Keys(rest)), " and no ")+t.takes())
	}
	if all = append(all, wrong...); len(all) > 0 {
		return nil, errors.New(t.Name + ": " + strings.Join(all, "; "))
	}
	return values, nil
}

// takes returns a list of the arguments that tools/list shows, as the end of a sentence; "" if
// there are none. Those of an old name are those of the tool that has taken its place.
func (t Tool) takes() string {
	var names []string
	for _, a := range t.arguments {
		if _, set := t.set[a.name]; !a.unlisted && !set {
			names = append(names, a.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", but " + strings.Join(names, ", ")
}

// wrong says what is wrong with the value v, which the call has under this name.
func (a argument) wrong(name string, v any) []string {
	if got := typeOf(v); got != a.Type && !(a.Type == "number" && got == "integer") {
		return []string{fmt.Sprintf("%s: got %s, want %s", name, got, a.Type)}
	}
	switch v := v.(type) {
	case string:
		if a.nonEmpty && strings.TrimSpace(v) == "" {
			return []string{name + " is empty"}
		}
		if a.Enum != nil && !slices.Contains(a.Enum, v) {
			return []string{fmt.Sprintf("%s: got %q, want one of %s", name, v, strings.Join(a.Enum, ", "))}
		}
	case float64:
		if a.Minimum != nil && v < float64(*a.Minimum) {
			return []string{fmt.Sprintf("%s: got %v, want %d or more", name, v, *a.Minimum)}
		}
		if a.Maximum > 0 && v > float64(a.Maximum) {
			return []string{fmt.Sprintf("%s: got %v, want %d or less", name, v, a.Maximum)}
		}
	case []any:
		if a.MaxItems > 0 && len(v) > a.MaxItems {
			return []string{fmt.Sprintf("%s: got %d, want %d or less", name, len(v), a.MaxItems)}
		}
		for i, item := range v {
			if got := typeOf(item); got != a.Items.Type {
				return []string{fmt.Sprintf("%s.%d: got %s, want %s", name, i, got, a.Items.Type)}
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
