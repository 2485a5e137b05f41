package sessions

import (
	"testing"
)

// The first PID namespace has the same inode on every machine, and a reboot ends all processes of
// one.
func TestANamespaceIsThatOfAMachine(t *testing.T) {
	const here = "pid:[1] boot-1 machine-1"
	for other, same := range map[string]bool{
		here: true, "pid:[1] boot-2 machine-1": true, "pid:[1] boot-2 machine-2": false, "pid:[2] boot-1 machine-1": false,
		"pid:[1] boot-2": false, "": false,
	} {
		if SameNamespace(here, other) != same {
			t.Errorf("%q counts as %q: %t", other, here, !same)
		}
	}
	if SameNamespace("pid:[1] boot-1", "pid:[1] boot-2") {
		t.Error("machines without an id are taken for each other")
	}
}
