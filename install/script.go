package install

import (
	"bytes"
	"errors"
	"fmt"
)

// errEdited says that a file which is ours as a whole is no longer what we wrote.
var errEdited = errors.New("edited since")

// scriptEditor owns the whole file.
type scriptEditor struct{ content []byte }

func (e scriptEditor) add(path string, _ []byte) ([]byte, error) {
	if len(e.content) == 0 {
		return nil, fmt.Errorf("write %s: the hook script is empty", path)
	}
	return e.content, nil
}

func (e scriptEditor) strip(_ string, data, _ []byte) ([]byte, error) {
	if !bytes.Equal(data, e.content) {
		return nil, errEdited
	}
	return []byte{}, nil
}

func (e scriptEditor) holds(data []byte) bool { return bytes.Equal(data, e.content) }
func (scriptEditor) blank(data []byte) bool   { return len(data) == 0 }

func (e scriptEditor) inspect(t target, f *file, _ Options) []Finding {
	found := Finding{OK, "hook script", t.path, "as this c2c writes it"}
	switch {
	case f.data == nil:
		found.Status, found.Detail = Problem, "no such file"+again(t.client)
	case !bytes.Equal(f.data, e.content):
		found.Status, found.Detail = Problem, "the content is not what this c2c writes"+again(t.client)
	case f.mode&0o111 != 0o111:
		found.Status, found.Detail = Problem, fmt.Sprintf("mode %04o is not executable", f.mode)+again(t.client)
	}
	return []Finding{found}
}
