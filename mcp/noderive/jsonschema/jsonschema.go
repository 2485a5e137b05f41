// Package jsonschema is a stub in place of github.com/google/jsonschema-go, with which mcp-go derives schemas from Go
// types; go.mod replaces the module by this stub. c2c writes the schemas of its tools by hand in catalog.go, and the real
// package allocates 81 kB at each start. The stub has the functions that mcp-go 1.2.1 calls; each returns an error.
package jsonschema

import (
	"errors"
	"reflect"
)

var errNone = errors.New("c2c makes no JSON Schema of a type")

// Schema has the fields that mcp-go sets.
type Schema struct {
	Type                             string
	Description                      string
	Items, AdditionalProperties, Not *Schema
	Properties                       map[string]*Schema
	PropertyOrder, Required          []string
	Enum                             []any
}

// ForOptions is never read.
type ForOptions struct{ IgnoreInvalidTypes bool }

// For returns an error.
func For[T any](*ForOptions) (*Schema, error) { return nil, errNone }

// ForType returns an error.
func ForType(reflect.Type, *ForOptions) (*Schema, error) { return nil, errNone }
