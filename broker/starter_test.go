package broker

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A client starts its hooks in a session of their own, by way of a shell or not.
func TestTheStarterOfOurSessionIsFound(t *testing.T) {
	const variable = "C2C_TEST_STARTER"
	if root := os.Getenv(variable); root != "" {
		b, err := Open(Config{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("starter %d\n", b.Starter())
		os.Exit(0)
	}
	for _, line := range []string{`exec "$0" "$1"`, `"$0" "$1"; true`, `sh -c '"$0" "$1"; true' "$0" "$1"`} {
		cmd := exec.Command("sh", "-c", line, os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"="+t.TempDir()+"/root")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if want := fmt.Sprintf("starter %d\n", os.Getpid()); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s, want %s", line, err, out, want)
		}
	}
}
