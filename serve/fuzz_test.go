package serve

import (
	"testing"

	"c2c/internal/atomicfile"
)

// Whatever stands in the files of a daemon, a port that is read is one, and neither stops who reads
// it.
func FuzzPortFiles(f *testing.F) {
	for _, s := range []string{"8080\n", "0", "-1", "65536", `{"url":"http://127.0.0.1:1/mcp","port":1,"pid":2,"started_at":"2026-11-22T10:00:00Z"}`, `{"port":"x"}`, "null", "\x00"} {
		f.Add([]byte(s))
	}
	dir, err := atomicfile.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dir.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{portFile, urlFile} {
			if err := dir.Write(name, data); err != nil {
				t.Fatal(err)
			}
		}
		if port, err := PortBefore(dir); err == nil && (port <= 0 || port > 65535) {
			t.Fatalf("%q is port %d", data, port)
		}
		if at, err := ReadAt(dir); err != nil && at != (At{}) {
			t.Fatalf("%q: %+v, %v", data, at, err)
		}
	})
}
