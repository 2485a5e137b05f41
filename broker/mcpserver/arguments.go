package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
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
			all = append(all, strings.TrimPrefix(cause.Error(), "at '': "))
		}
		return errors.New(tool.Name + ": " + strings.Join(all, "; "))
	}
}
