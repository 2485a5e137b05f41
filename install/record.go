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

// A journal holds the data to undo our edits. c2c writes it before the edits, so that after a crash
// it can undo every edit. If c2c crashes before an edit, the file does not match the hash in the
// record, and an undo ignores the record.
type journal struct {
	Version int       `json:"version"`
	Dirs    []string  `json:"dirs"` // directories that c2c has made and not removed yet
	Files   []*record `json:"files"`

	file *File // the file of the journal as it was read
}

// A record holds the data to undo our edit of one file.
type record struct {
	Client      string      `json:"client"`
	Kind        string      `json:"kind"`
	Path        string      `json:"path"`
	Config      string      `json:"config,omitempty"` // the client's configuration directory at the time of the edit
	Existed     bool        `json:"existed"`
	Mode        fs.FileMode `json:"mode"`     // before our edit; 0 if the file did not exist
	Original    []byte      `json:"original"` // base64
	AfterMode   fs.FileMode `json:"after_mode"`
	AfterSHA256 string      `json:"after_sha256"`
}

func journalPath(stateDir string) string { return filepath.Join(stateDir, "undo.json") }

func readJournal(stateDir string) (*journal, error) {
	j := &journal{Version: 1}
	var err error
	if j.file, err = ReadFile(journalPath(stateDir)); err != nil || j.file.Data == nil {
		return j, err
	}
	err = json.Unmarshal(j.file.Data, j)
	if err == nil && slices.Contains(j.Files, nil) {
		err = errors.New("a record is null")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; move it away, then run again", j.file.Path, err)
	}
	if j.Version != 1 {
		return nil, fmt.Errorf("read %s: version %d is from a newer c2c; run the newer c2c", j.file.Path, j.Version)
	}
	return j, nil
}

// change returns the Change that writes the present content of the journal.
func (j *journal) change() Change {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		panic(err) // impossible: a journal has only strings, bytes, numbers and booleans
	}
	return j.file.Change(append(data, '\n'), 0o600)
}

// find returns the record of path, nil if there is none.
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

// original returns the bytes that an undo restores. It returns nil if there was no file, or if r is
// nil and so nothing is known.
func (r *record) original() []byte {
	if r == nil || !r.Existed {
		return nil
	}
	return append([]byte{}, r.Original...)
}

// known returns the file's content before our edit. It returns an empty slice if there was no file,
// and nil if r is nil.
func (r *record) known() []byte {
	if r == nil {
		return nil
	}
	return append([]byte{}, r.Original...)
}

// untouched reports whether data is the file's content before our edit.
func (r *record) untouched(data []byte) bool {
	return r.Existed && bytes.Equal(data, r.Original)
}

// nextRecord returns the record for an edit of f. old is the record of our last edit of f, or nil.
func nextRecord(old *record, t target, f *File) (*record, error) {
	r := &record{Client: t.client, Kind: t.editor.kind(), Path: t.path}
	switch {
	case f.Data == nil:
		return r, nil
	case old != nil && (Hash(f.Data) == old.AfterSHA256 || old.untouched(f.Data) || r.Kind == kindScript):
		// Only c2c has edited the file, or c2c crashed before its edit, or the file is a script, of
		// which every byte is ours.
		r.Existed, r.Mode, r.Original = old.Existed, old.Mode, old.Original
		return r, nil
	}
	r.Existed, r.Mode, r.Original = true, f.Mode, f.Data
	if old == nil && !hasOurs(t.editor, f.Data) {
		return r, nil
	}
	// c2c and a person have edited the file, or our record of it was lost. An undo restores the
	// person's version, without our part.
	without, err := t.editor.strip(t.path, f.Data, old.known())
	if err != nil {
		return nil, err
	}
	r.Original = without
	if old != nil && old.Existed && f.Mode == old.AfterMode {
		r.Mode = old.Mode // c2c has set the mode, even if a person has edited the content
	}
	if old != nil && !old.Existed && Blank(without) {
		r.Existed, r.Mode, r.Original = false, 0, nil
	}
	return r, nil
}
