// Package jsonschema replaces the package with which mcp-go derives schemas from Go types (go.mod names it). The schemas of c2c's
// tools are in catalog.go, and the real package allocates 81 kB at each start. This one has the functions that mcp-go 1.2.1
// calls; each returns an error.
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

// ForOptions is never read.
type ForOptions struct{ IgnoreInvalidTypes bool }

// For returns an error.
func For[T any](*ForOptions) (*Schema, error) { return nil, errNone }

// ForType returns an error.
func ForType(reflect.Type, *ForOptions) (*Schema, error) { return nil, errNone }
