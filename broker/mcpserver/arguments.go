package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	fault "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// checker gives a function that says what is wrong with the arguments of a call. mcp-go 1.2.1 can check them, too, but
// shows the model Go structs: "<root>: &{Missing:[content]}", and addresses for numbers. The schema is compiled at the
// first call: most sessions call few tools.
func checker(tool mcp.Tool) func(arguments any) error {
	compiled := sync.OnceValues(func() (*jsonschema.Schema, error) {
		text, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return nil, err
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		const name = "mem:///arguments.json" // or it looks for a file
		c := jsonschema.NewCompiler()
		if err := c.AddResource(name, schema); err != nil {
			return nil, err
		}
		return c.Compile(name)
	})
	return func(arguments any) error {
		schema, err := compiled()
		if err != nil {
			return err
		}
		if arguments == nil {
			arguments = map[string]any{}
		}
		text, err := json.Marshal(arguments)
		if err != nil {
			return err
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		var wrong *jsonschema.ValidationError
		if err = schema.Validate(value); !errors.As(err, &wrong) {
			return err
		}
		var all []string
		for _, cause := range wrong.Causes {
			all = append(all, sentence(cause))
		}
		return errors.New(tool.Name + ": " + strings.Join(all, "; "))
	}
}

// sentence says what is wrong with an argument, in words that a model need not guess at.
func sentence(wrong *jsonschema.ValidationError) string {
	name := cmp.Or(strings.Join(wrong.InstanceLocation, "."), "arguments")
	switch k := wrong.ErrorKind.(type) {
	case *fault.Required:
		return "it needs " + strings.Join(k.Missing, " and ")
	case *fault.AdditionalProperties:
		return "it takes no " + strings.Join(k.Properties, " and no ")
	case *fault.Type:
		return fmt.Sprintf("%s: got %s, want %s", name, k.Got, strings.Join(k.Want, " or "))
	case *fault.Minimum:
		return fmt.Sprintf("%s: got %s, want %s or more", name, k.Got.RatString(), k.Want.RatString())
	case *fault.Maximum:
		return fmt.Sprintf("%s: got %s, want %s or less", name, k.Got.RatString(), k.Want.RatString())
	case *fault.MinLength:
		return name + " is empty"
	case *fault.Enum:
		var words []string
		for _, word := range k.Want {
			words = append(words, fmt.Sprint(word))
		}
		return fmt.Sprintf("%s: got %q, want one of %s", name, fmt.Sprint(k.Got), strings.Join(words, ", "))
	}
	return strings.TrimPrefix(wrong.Error(), "at '': ")
}
