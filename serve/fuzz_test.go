package serve

import (
	"testing"

	"c2c/internal/atomicfile"
)

// Whatever stands in the file of the port, a port that is read is one.
func FuzzPortFiles(f *testing.F) {
	for _, s := range []string{"8080\n", "0", "-1", "65536", "x", "null", "\x00"} {
		f.Add([]byte(s))
	}
	dir, err := atomicfile.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dir.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := dir.Write(portFile, data); err != nil {
			t.Fatal(err)
		}
		if port, err := PortBefore(dir); err == nil && (port <= 0 || port > 65535) {
			t.Fatalf("%q is port %d", data, port)
		}
	})
}
