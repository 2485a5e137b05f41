package relay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/relay"
)

// Otherwise the mail of a carrier would wait, and no error would say so.
func TestEveryCarrierIsRunAndCanBePaired(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			code.Write(text)
		}
	}
	for _, name := range relay.Kinds() {
		if kinds[name].open == nil {
			t.Errorf("nothing runs the carrier %s: no file of cmd/relay adds it to kinds", name)
		}
		if !strings.Contains(code.String(), "Carrier: relay."+strings.ToUpper(name)) {
			t.Errorf("no file of cmd/relay pairs a host by relay.%s", strings.ToUpper(name))
		}
	}
	for name := range kinds {
		if !slices.Contains(relay.Kinds(), name) {
			t.Errorf("relay.Kinds (relay/hosts.go) does not have the carrier %s", name)
		}
	}
}
