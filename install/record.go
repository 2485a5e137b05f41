package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// A journal is what undoing our edits needs. It is written before the edits, so that a crash between the
// two leaves nothing that cannot be undone: a record of an edit that never happened matches no hash and
// does nothing.
type journal struct {
	Version int       `json:"version"`
	Dirs    []string  `json:"dirs"` // that we made and have not removed
	Files   []*record `json:"files"`

	file *file // as it was read
}

// A record is what undoing our edit of one file needs.
type record struct {
	Client      string      `json:"client"`
	Kind        string      `json:"kind"`
	Path        string      `json:"path"`
	Config      string      `json:"config,omitempty"` // the client's configuration directory then
	Existed     bool        `json:"existed"`
	Mode        fs.FileMode `json:"mode"`     // before us; 0 when it did not exist
	Original    []byte      `json:"original"` // base64
	AfterMode   fs.FileMode `json:"after_mode"`
	AfterSHA256 string      `json:"after_sha256"`
}

func journalPath(stateDir string) string { return filepath.Join(stateDir, "undo.json") }

func readJournal(stateDir string) (*journal, error) {
	j := &journal{Version: 1}
	var err error
	if j.file, err = readFile(journalPath(stateDir)); err != nil || j.file.data == nil {
		return j, err
	}
	err = json.Unmarshal(j.file.data, j)
	if err == nil && slices.Contains(j.Files, nil) {
		err = errors.New("a record is null")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; move it away, then run again", j.file.path, err)
	}
	if j.Version != 1 {
		return nil, fmt.Errorf("read %s: version %d was written by a newer c2c", j.file.path, j.Version)
	}
	return j, nil
}

// change is the step from the journal as it was read to what it is now.
func (j *journal) change() Change {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		panic(err) // strings, numbers and times only
	}
	return j.file.change(append(data, '\n'), 0o600)
}

// find returns the record of path, nil when there is none.
func (j *journal) find(path string) *record {
	for _, r := range j.Files {
		if r.Path == path {
			return r
		}
	}
	return nil
}

// forget drops the records of paths.
func (j *journal) forget(paths ...string) {
	j.Files = slices.DeleteFunc(j.Files, func(r *record) bool { return slices.Contains(paths, r.Path) })
}

// original returns the bytes to go back to: nil when there was no file, or
// when r is nil and nothing is known.
func (r *record) original() []byte {
	if r == nil || !r.Existed {
		return nil
	}
	return append([]byte{}, r.Original...)
}

// known is what was there before us, empty when there was no file, and nil when nothing is known.
func (r *record) known() []byte {
	if r == nil {
		return nil
	}
	return append([]byte{}, r.Original...)
}

// untouched reports whether data is what was there before c2c.
func (r *record) untouched(data []byte) bool {
	return r.Existed && bytes.Equal(data, r.Original)
}

// nextRecord returns what to go back to after an edit of f, given the record
// of our last edit of it (nil: none).
func nextRecord(old *record, t target, f *file) (*record, error) {
	r := &record{Client: t.client, Kind: t.editor.kind(), Path: t.path}
	switch {
	case f.data == nil:
		return r, nil
	case old != nil && (hash(f.data) == old.AfterSHA256 || old.untouched(f.data) || r.Kind == kindScript):
		// Nobody else edited it since; or a crash came before our edit; or
		// somebody edited the script, which is ours as a whole.
		r.Existed, r.Mode, r.Original = old.Existed, old.Mode, old.Original
		return r, nil
	}
	r.Existed, r.Mode, r.Original = true, f.mode, f.data
	if old == nil && !hasOurs(t.editor, f.data) {
		return r, nil
	}
	// The file was edited by both, or our record of it was lost: go back to
	// the user's version without our part.
	without, err := t.editor.strip(t.path, f.data, old.known())
	if err != nil {
		return nil, err
	}
	r.Original = without
	if old != nil && old.Existed && f.mode == old.AfterMode {
		r.Mode = old.Mode // the mode is ours, whoever edited the words
	}
	if old != nil && !old.Existed && blank(without) {
		r.Existed, r.Mode, r.Original = false, 0, nil
	}
	return r, nil
}
