// Package need skips a test that cannot run on this machine, and reports what is missing.
//
//	C2C_TEST_NOSKIP=1      such a test fails; CI sets it
//	C2C_TEST_SKIPPED=file  gets a line for each skipped test; `make test` prints them at its end
package need

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Tools skips the test unless all these programs are installed.
func Tools(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			Skip(t, "install "+name)
		}
	}
}

// Skip ends a test that cannot run on this machine. why tells a person what to do so that the test
// can run.
func Skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("C2C_TEST_NOSKIP") != "" {
		t.Fatal(why)
	}
	if err := note(t.Name() + ": " + why + "\n"); err != nil {
		t.Error(err)
	}
	t.Skip(why)
}

// note adds a line to the list of skipped tests. The test programs of several packages may add
// lines at the same time.
func note(line string) error {
	name := os.Getenv("C2C_TEST_SKIPPED")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("note a skipped test: %w", err)
	}
	if _, err := f.WriteString(line); err != nil {
		f.Close()
		return fmt.Errorf("note a skipped test: %w", err)
	}
	return f.Close()
}
