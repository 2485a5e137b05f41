// This part shows edits of files to a person, before they are made or after.

package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"

	"c2c/internal/format"
)

// Diff returns all changes as one unified diff, "" if there are none. A file that is c2c's own is one
// line in it, unless whole is set: the text of c2c's plugins would hide what changes in the
// person's files.
func (p *Plan) Diff(whole bool) string {
	var out strings.Builder
	for _, c := range p.Changes {
		if c.Target != c.Path {
			fmt.Fprintf(&out, "%s is a link; the file edited is %s\n", c.Path, c.Target)
		}
		if c.Before != nil && c.After != nil && c.Mode.Perm() != c.BeforeMode.Perm() {
			fmt.Fprintf(&out, "%s: mode %04o becomes %04o\n", c.Path, c.BeforeMode.Perm(), c.Mode.Perm())
		}
		if c.Own && !whole {
			out.WriteString(inOneLine(c))
		} else {
			out.WriteString(inFull(c))
		}
	}
	return out.String()
}

// inOneLine says what happens to a file, without its text. It returns "" if the text stays as it
// is.
func inOneLine(c Change) string {
	text := diff.Diff("", c.Before, "", c.After)
	if text == nil {
		return ""
	}
	added, removed := bytes.Count(text, []byte("\n+"))-1, bytes.Count(text, []byte("\n-"))-1 // the diff's header has one of each
	switch {
	case c.Before == nil:
		return fmt.Sprintf("new file %s (%s, c2c's own)\n", c.Path, format.Count(added, "line", "lines"))
	case c.After == nil:
		return fmt.Sprintf("deleted file %s (%s, c2c's own)\n", c.Path, format.Count(removed, "line", "lines"))
	}
	return fmt.Sprintf("updates %s, c2c's own file: +%d -%d lines\n", c.Path, added, removed)
}

// inFull returns a change as a unified diff.
func inFull(c Change) string {
	head, oldName, newName := "", c.Path, c.Path
	before, after := masked(c.Before), masked(c.After)
	switch {
	case c.Before == nil:
		head, oldName = fmt.Sprintf("new file mode %04o\n", c.Mode.Perm()), "/dev/null"
	case c.After == nil:
		head, newName = fmt.Sprintf("deleted file mode %04o\n", c.BeforeMode.Perm()), "/dev/null"
	case isOneLine(before) && isOneLine(after) && !bytes.Equal(before, after):
		var was, becomes bytes.Buffer
		if json.Indent(&was, before, "", "  ") == nil && json.Indent(&becomes, after, "", "  ") == nil {
			head, before, after = c.Path+" stays on one line; it is shown indented here\n", was.Bytes(), becomes.Bytes()
		}
	}
	return head + string(diff.Diff(oldName, before, newName, after))
}

// isOneLine reports whether a text has one line. In a diff of such texts, nobody sees what changes.
func isOneLine(text []byte) bool { return !bytes.Contains(bytes.TrimSpace(text), []byte("\n")) }

// key matches the token after "Bearer" in a file, however it is quoted.
var key = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]+`) })

// masked returns a file's data for display, without tokens.
func masked(data []byte) []byte {
	if data == nil || !strings.Contains(strings.ToLower(string(data)), "bearer") {
		return data
	}
	return key().ReplaceAll(data, []byte("${1}…"))
}
