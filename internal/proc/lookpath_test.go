package proc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLookPathFindsWhatCanBeRunInAbsoluteDirectories(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, mode := range map[string]os.FileMode{"here/gem": 0o755, "text/gem": 0o644, "folder/gem/x": 0o755, "there/gem": 0o755} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"here:" + dir + "/text:" + dir + "/folder:" + dir + "/none:" + dir + "/there": dir + "/there/gem",
		"here:.:": "", "": "",
	} {
		got, err := LookPath("gem", func(string) string { return path })
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
	}
	for path, ok := range map[string]bool{dir + "/here/gem": true, dir + "/text/gem": false, dir + "/none/gem": false} {
		if _, err := LookPath(path, os.Getenv); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}
