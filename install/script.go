package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"c2c/doctor"
)

// errEdited says that a file which is ours as a whole is no longer what we wrote.
var errEdited = errors.New("edited since")

// scriptEditor owns the whole file.
type scriptEditor struct {
	part    string // what it is called
	content []byte
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

func (e scriptEditor) name() string { return e.part }

func (scriptEditor) kind() string { return kindScript }

func (e scriptEditor) holds(data []byte) bool { return bytes.Equal(data, e.content) }

func (e scriptEditor) inspect(t target, f *file, _ Options) ([]doctor.Finding, error) {
	found := doctor.Finding{Client: t.client, Status: doctor.OK, Part: e.part, Path: t.path, Detail: "as this c2c writes it"}
	switch {
	case f.data == nil:
		return nil, nil
	case !bytes.Equal(f.data, e.content):
		found = t.problem(e.part, "the content is not what this c2c writes")
	case f.mode&t.mode&0o111 != t.mode&0o111:
		found = t.problem(e.part, fmt.Sprintf("mode %04o is not executable", f.mode))
	}
	return []doctor.Finding{found}, nil
}

// runs is a script of ours with the path of c2c written into it.
func runs(script []byte, binary string) []byte { return constant(script, "c2c", binary) }

// constant is a script of ours in which a constant that is its own name gets a value.
func constant(script []byte, name, value string) []byte {
	text, _ := json.Marshal(value)
	return bytes.Replace(script, fmt.Appendf(nil, "const %s = %q", name, name), fmt.Appendf(nil, "const %s = %s", name, text), 1)
}
