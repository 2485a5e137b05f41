package relay

import (
	"os"
	"strings"
	"testing"

	"c2c/relay"
)

// Without an opener the mail of a carrier would wait, and no error would say so.
func TestEveryCarrierIsRunAndCanBePaired(t *testing.T) {
	pairs, err := os.ReadFile("add.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range relay.Kinds() {
		if openers[kind] == nil {
			t.Errorf("nothing runs the carrier %s: openers (carriers.go) has no row for it", kind)
		}
		if !strings.Contains(string(pairs), "relay."+strings.ToUpper(kind)) {
			t.Errorf("add.go does not pair hosts for relay.%s", strings.ToUpper(kind))
		}
	}
	if len(openers) != len(relay.Kinds()) {
		t.Error("openers has a carrier that relay.Kinds (relay/hosts.go) does not have")
	}
}
