package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A record is what undoing our edit of one file needs. It is written before
// the edit, so that a crash between the two leaves nothing that cannot be
// undone: a record of an edit that never happened matches no hash and does nothing.
type record struct {
	Version     int         `json:"version"`
	Client      string      `json:"client"`
	Kind        string      `json:"kind"`
	Path        string      `json:"path"`
	Existed     bool        `json:"existed"`
	Mode        fs.FileMode `json:"mode"`     // before us; 0 when it did not exist
	Original    []byte      `json:"original"` // base64
	AfterMode   fs.FileMode `json:"after_mode"`
	AfterSHA256 string      `json:"after_sha256"`
	Time        time.Time   `json:"time"`
}

// original returns the bytes to go back to: nil when there was no file, or
// when r is nil and nothing is known.
func (r *record) original() []byte {
	if r == nil || !r.Existed {
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
	r := &record{Version: 1, Client: t.client, Kind: t.kind, Path: t.path}
	switch {
	case f.data == nil:
		return r, nil
	case old != nil && (hash(f.data) == old.AfterSHA256 || old.untouched(f.data) || t.kind == kindScript):
		// Nobody else edited it since; or a crash came before our edit; or
		// somebody edited the script, which is ours as a whole.
		r.Existed, r.Mode, r.Original = old.Existed, old.Mode, old.Original
		return r, nil
	}
	r.Existed, r.Mode, r.Original = true, f.mode, f.data
	if old == nil && !t.editor.holds(f.data) {
		return r, nil
	}
	// The file was edited by both, or our record of it was lost: go back to
	// the user's version without our part.
	without, err := t.editor.strip(t.path, f.data, old.original())
	if err != nil {
		return nil, err
	}
	r.Original = without
	if old != nil && !old.Existed && blank(without) {
		r.Existed, r.Mode, r.Original = false, 0, nil
	}
	return r, nil
}

const dirsName = "dirs.json"

func recordPath(stateDir, path string) string {
	return filepath.Join(stateDir, hash([]byte(path))[:24]+".json")
}

// readRecord returns the record of path, nil when there is none.
func readRecord(stateDir, path string) (*record, error) {
	r, err := decodeRecord(recordPath(stateDir, path))
	if r != nil && r.Path != path {
		err = fmt.Errorf("read undo record of %s: it is of %q", path, r.Path)
	}
	return r, err
}

// readRecords returns all records, in a stable order.
func readRecords(stateDir string) ([]*record, error) {
	entries, err := os.ReadDir(stateDir) // filepath.Glob takes a directory that cannot be read for an empty one
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []*record
	for _, e := range entries {
		if ok, _ := filepath.Match("[0-9a-f]*.json", e.Name()); !ok || e.Name() == dirsName {
			continue
		}
		r, err := decodeRecord(filepath.Join(stateDir, e.Name()))
		if err != nil {
			return nil, err
		}
		if r != nil {
			all = append(all, r)
		}
	}
	return all, nil
}

// decodeRecord returns nil when there is no such file.
func decodeRecord(name string) (*record, error) {
	var r record
	data, err := readJSON(name, &r)
	if err != nil || data == nil {
		return nil, err
	}
	if r.Version != 1 {
		return nil, fmt.Errorf("read undo record %s: version %d was written by a newer c2c", name, r.Version)
	}
	return &r, nil
}

// readDirs returns the directories that we created and have not removed.
func readDirs(stateDir string) (data []byte, dirs []string, err error) {
	data, err = readJSON(filepath.Join(stateDir, dirsName), &dirs)
	return data, dirs, err
}

// readJSON reads a file of ours into v. A missing one is no error, and data is nil.
func readJSON(name string, v any) (data []byte, err error) {
	switch data, err = os.ReadFile(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("read %s: %w; move it away, then run again", name, err)
	}
	return data, nil
}

func encode(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // strings, numbers and times only
	}
	return append(data, '\n')
}

// mergeDirs returns the union of both, sorted, so parents come first.
func mergeDirs(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
