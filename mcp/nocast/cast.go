// Package cast is a stub in place of github.com/spf13/cast, a module for conversions that mcp-go imports; go.mod replaces
// the module by this stub. c2c checks arguments with Tool.Check instead. The real package brings html/template and
// text/template, which allocate at each start. The stub has the functions that mcp-go 1.2.1 calls. mcp-go calls the
// functions with an error result when it reads answers of other servers; they return an error. c2c's code reaches none of
// the others; they panic.
package cast

import "errors"

var errNone = errors.New("c2c links no conversions")

// ToFloat64E returns an error.
func ToFloat64E(any) (float64, error) { return 0, errNone }

// ToInt64E returns an error.
func ToInt64E(any) (int64, error) { return 0, errNone }

// ToStringSlice returns nil.
func ToStringSlice(any) []string { return nil }

func none[T any]() T { panic(errNone) }

// mcp.ParseBoolean and similar functions of mcp-go call the following; c2c uses none of them.
func ToBool(any) bool                { return none[bool]() }
func ToFloat32(any) float32          { return none[float32]() }
func ToFloat64(any) float64          { return none[float64]() }
func ToInt(any) int                  { return none[int]() }
func ToInt8(any) int8                { return none[int8]() }
func ToInt16(any) int16              { return none[int16]() }
func ToInt32(any) int32              { return none[int32]() }
func ToInt64(any) int64              { return none[int64]() }
func ToUint(any) uint                { return none[uint]() }
func ToUint8(any) uint8              { return none[uint8]() }
func ToUint16(any) uint16            { return none[uint16]() }
func ToUint32(any) uint32            { return none[uint32]() }
func ToUint64(any) uint64            { return none[uint64]() }
func ToString(any) string            { return none[string]() }
func ToStringMap(any) map[string]any { return none[map[string]any]() }
