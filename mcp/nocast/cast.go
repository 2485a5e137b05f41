// Package cast is a stub in place of github.com/spf13/cast, a module for type conversions that mcp-go imports; go.mod
// replaces the module by this stub. c2c checks arguments with Tool.Check instead. The real module imports html/template
// and text/template, which allocate memory at each start. The stub has the functions that mcp-go 1.2.1 calls. mcp-go calls
// the first three of them when it reads answers of other servers. The other functions panic, because c2c's code reaches
// none of them.
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

// The functions below are called by mcp.ParseBoolean and similar functions of mcp-go, which c2c does not use.
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
