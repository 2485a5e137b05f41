// Package jsonschema stands in for the maker of schemas from Go types that mcp-go links (go.mod replaces it). The schemas of
// c2c's tools stand in catalog.go, and the real one allocates 81 kB at each start. It has what mcp-go 1.2.1 calls, and refuses
// to work.
package jsonschema

import (
	"errors"
	"reflect"
)

var errNone = errors.New("c2c makes no JSON Schema of a type")

// Schema is what mcp-go fills in.
type Schema struct {
	Type                             string
	Description                      string
	Items, AdditionalProperties, Not *Schema
	Properties                       map[string]*Schema
	PropertyOrder, Required          []string
	Enum                             []any
}

// ForOptions are not read.
type ForOptions struct{ IgnoreInvalidTypes bool }

// For refuses.
func For[T any](*ForOptions) (*Schema, error) { return nil, errNone }

// ForType refuses.
func ForType(reflect.Type, *ForOptions) (*Schema, error) { return nil, errNone }
