package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"c2c/internal/format"
)

// errEdited: somebody has changed a file of which c2c wrote every byte.
var errEdited = errors.New("edited since")

// scriptEditor writes and removes a file of which every byte is ours.
type scriptEditor struct {
	part    string // the name of the file in findings
	content []byte
	quiet   bool // report only problems
}

func (e scriptEditor) add(path string, _ []byte) ([]byte, error) {
	if len(e.content) == 0 {
		return nil, fmt.Errorf("write %s: the %s is empty", path, e.part)
	}
	return e.content, nil
}

func (e scriptEditor) strip(_ string, data, _ []byte) ([]byte, error) {
	if !bytes.Equal(data, e.content) {
		return nil, errEdited
	}
	return []byte{}, nil
}

func (scriptEditor) kind() string { return kindScript }

func (e scriptEditor) find(f *File) (part, error) {
	p := part{there: f.Data != nil, ours: bytes.Equal(f.Data, e.content)}
	p.report = func(t target, _ Options) []format.Finding {
		switch {
		case !p.ours:
			return []format.Finding{t.broken(e.part, "the content is not what this c2c installs")}
		case f.Mode&t.mode&0o111 != t.mode&0o111:
			return []format.Finding{t.broken(e.part, fmt.Sprintf("mode %04o is not executable", f.Mode))}
		case e.quiet:
			return nil
		}
		return []format.Finding{t.good(e.part, "the content is what this c2c installs")}
	}
	return p, nil
}

// runs returns a script of ours whose constant c2c is the path of the program c2c.
func runs(script []byte, binary string) []byte { return constant(script, "c2c", binary) }

// constant returns a script of ours with another value for one constant. In the unchanged script,
// the value of each such constant is its own name.
func constant(script []byte, name, value string) []byte {
	text, _ := json.Marshal(value)
	return bytes.Replace(script, fmt.Appendf(nil, "const %s = %q", name, name), fmt.Appendf(nil, "const %s = %s", name, text), 1)
}
