package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"c2c/doctor"
)

// errEdited means that a file which is ours as a whole has changed since we wrote it.
var errEdited = errors.New("edited since")

// scriptEditor owns the whole file.
type scriptEditor struct {
	part    string // what findings call the file
	content []byte
	quiet   bool // reports only what is wrong
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

func (e scriptEditor) find(f *file) (part, error) {
	p := part{there: f.data != nil, ours: bytes.Equal(f.data, e.content)}
	p.report = func(t target, _ Options) []doctor.Finding {
		switch {
		case !p.ours:
			return []doctor.Finding{t.broken(e.part, "the content is not what this c2c writes")}
		case f.mode&t.mode&0o111 != t.mode&0o111:
			return []doctor.Finding{t.broken(e.part, fmt.Sprintf("mode %04o is not executable", f.mode))}
		case e.quiet:
			return nil
		}
		return []doctor.Finding{t.good(e.part, "as this c2c writes it")}
	}
	return p, nil
}

// runs returns a script of ours with the path of c2c written into it.
func runs(script []byte, binary string) []byte { return constant(script, "c2c", binary) }

// constant returns a script of ours with another value for one constant. In the script the constant's value is its own name.
func constant(script []byte, name, value string) []byte {
	text, _ := json.Marshal(value)
	return bytes.Replace(script, fmt.Appendf(nil, "const %s = %q", name, name), fmt.Appendf(nil, "const %s = %s", name, text), 1)
}
