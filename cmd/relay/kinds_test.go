package relay

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Without its place in host.go the mail of a carrier would wait, and no error would say so.
func TestEveryCarrierIsRunAndCanBePaired(t *testing.T) {
	source, err := os.ReadFile("../../relay/hosts.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(source), "// The names of the carriers.\nconst (\n")
	list, _, _ = strings.Cut(list, ")")
	names := regexp.MustCompile(`(?m)^\t(\w+)\s+=`).FindAllStringSubmatch(list, -1)
	if len(names) < 2 {
		t.Fatalf("relay/hosts.go names %d carriers", len(names))
	}
	_, check, _ := strings.Cut(string(source), "func (h Host) check() error")
	for _, name := range names {
		if !strings.Contains(check, name[1]) {
			t.Errorf("Host.check (relay/hosts.go) refuses %s", name[1])
		}
		for file, what := range map[string]string{"host.go": "run", "add.go": "pair hosts for"} {
			if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "relay."+name[1]) {
				t.Errorf("%s does not %s relay.%s (%v)", file, what, name[1], err)
			}
		}
	}
}
