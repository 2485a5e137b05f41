//go:build !linux || portable

package claims

import "strings"

// fold returns the name in lower case, because the file systems of this system usually ignore case.
func fold(name string) string { return strings.ToLower(name) }
