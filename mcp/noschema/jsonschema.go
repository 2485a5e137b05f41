// Package jsonschema replaces the validator that mcp-go links (go.mod names it). c2c does not use that validation,
// because Tool.Check checks the arguments. The real validator reads its meta-schemas at each start: that cost 3.8 of the 8 ms
// that c2cd mcp took to its first answer, and 1.7 MB. This package has the names that mcp-go 1.2.1 calls, and each returns an
// error.
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
