package moves

import (
	"path/filepath"
	"strings"
	"testing"

	"c2c/sessions"
	"c2c/sessions/callers"
)

// What stands across two pieces of the file is found, too.
func TestADeadLetterIsFoundWhereverItStands(t *testing.T) {
	reg, err := sessions.Open(sessions.Config{Root: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	name := "01a206ea-27ec-7ad8-af45-ca172588faf3"
	own, _ := sessions.ParseRow([]byte(`{"session_id":"` + name + `","alias":"amber"}`))
	may, longest := mayInherit(reg, own, nil)
	for at := 256<<10 - 2*len(name); at < 256<<10+2*len(name); at++ {
		if err := reg.Dir().Write(callers.DeadLetterFile, []byte(strings.Repeat("x", at)+name+strings.Repeat("x", 9))); err != nil {
			t.Fatal(err)
		}
		if !anyDead(reg, may, longest) {
			t.Fatalf("not at %d", at)
		}
	}
	if err := reg.Dir().Write(callers.DeadLetterFile, []byte(strings.Repeat("x", 1<<20))); err != nil {
		t.Fatal(err)
	}
	if anyDead(reg, may, longest) {
		t.Error("found where there is none")
	}
}
