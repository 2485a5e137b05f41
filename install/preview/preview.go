// Package preview shows edits of files to a person, before they are made or after.
package preview

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"c2c/install/edits"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns changes as one unified diff, "" if there are none.
func Diff(changes []edits.Change) string {
	var out strings.Builder
	for _, c := range changes {
		oldName, newName := c.Path, c.Path
		switch {
		case c.Before == nil:
			oldName = "/dev/null"
			fmt.Fprintf(&out, "new file mode %04o\n", c.Mode.Perm())
		case c.After == nil:
			newName = "/dev/null"
			fmt.Fprintf(&out, "deleted file mode %04o\n", c.BeforeMode.Perm())
		case c.Mode.Perm() != c.BeforeMode.Perm():
			fmt.Fprintf(&out, "%s: mode %04o becomes %04o\n", c.Path, c.BeforeMode.Perm(), c.Mode.Perm())
		}
		if c.Target != c.Path {
			fmt.Fprintf(&out, "%s is a link; the file edited is %s\n", c.Path, c.Target)
		}
		out.Write(diff.Diff(oldName, masked(c.Before), newName, masked(c.After)))
	}
	return out.String()
}

// key matches the token after "Bearer" in a file, however it is quoted.
var key = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]+`) })

// masked returns a file's data for display, without tokens.
func masked(data []byte) []byte {
	if data == nil || !strings.Contains(strings.ToLower(string(data)), "bearer") {
		return data
	}
	return key().ReplaceAll(data, []byte("${1}…"))
}
