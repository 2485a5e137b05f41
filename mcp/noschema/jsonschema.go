// Package jsonschema is a stub in place of github.com/santhosh-tekuri/jsonschema, the validator that mcp-go imports;
// go.mod replaces the module by this stub. c2c checks arguments with Tool.Check instead. The real validator reads its
// meta-schemas at each start. That cost 1.7 MB, and 3.8 of the 8 ms before the first answer of the MCP server. The stub has
// the functions that mcp-go 1.2.1 calls; each returns an error.
package jsonschema

import (
	"errors"
	"io"
)

var errNone = errors.New("c2c links no JSON Schema validator")

type (
	// Schema validates nothing.
	Schema struct{}
	// Compiler compiles nothing.
	Compiler struct{}
	// ValidationError is never returned.
	ValidationError struct {
		InstanceLocation []string
		ErrorKind        any
		Causes           []*ValidationError
	}
)

func (*ValidationError) Error() string { return errNone.Error() }

// NewCompiler returns a compiler whose methods return errors.
func NewCompiler() *Compiler { return &Compiler{} }

// AddResource returns an error.
func (*Compiler) AddResource(string, any) error { return errNone }

// Compile returns an error.
func (*Compiler) Compile(string) (*Schema, error) { return nil, errNone }

// Validate returns an error.
func (*Schema) Validate(any) error { return errNone }

// UnmarshalJSON returns an error.
func UnmarshalJSON(io.Reader) (any, error) { return nil, errNone }
