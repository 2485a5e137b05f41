package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"c2c/install"
	"c2c/internal/format"
)

// programs builds both programs, as a person has them.
func programs(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	if err := buildPrograms(bin); err != nil {
		t.Fatal(err)
	}
	return bin
}

func buildPrograms(bin string) error {
	cmd := exec.Command("go", "build", "-o", bin+"/", "c2c/cmd/c2c", "c2c/cmd/c2cd")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// kept are the programs of the tests that do not change them. TestMain removes them.
var kept = sync.OnceValues(func() (bin string, err error) {
	if bin, err = os.MkdirTemp("", "c2c-programs-"); err == nil {
		keptBin, err = bin, buildPrograms(bin)
	}
	return bin, err
})

var keptBin string

func keptPrograms(t *testing.T) string {
	t.Helper()
	bin, err := kept()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func TestRoundTrip(t *testing.T) {
	o := install.Options{Getenv: os.Getenv, Binary: filepath.Join(programs(t), "c2c")}
	if f := selfTest(t.Context(), o); f.Status != format.OK {
		t.Error(f.Detail)
	}
}

func TestInstallDryRunChangesNothingAndUninstallLeavesNoTrace(t *testing.T) {
	home := t.TempDir()
	settings := filepath.Join(home, ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	const before = "{\n\t\"model\": \"x\" // mine\n}\n"
	if err := os.WriteFile(settings, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		a := &app{stdout: &out, stderr: &out, cwd: home, c2c: "/opt/c2c", getenv: func(name string) string {
			return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
		}}
		if code := a.main(t.Context(), args); code != 0 {
			t.Fatalf("%q: exit %d, %s", args, code, out.Bytes())
		}
		return out.String()
	}
	if out := run("install", "--dry-run", "claude"); !strings.Contains(out, "+++ "+settings) {
		t.Errorf("dry run shows %s", out)
	}
	tree := func() string {
		out, err := exec.Command("find", home, "-mindepth", "1", "-printf", "%P %m\n").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	empty := tree()
	if data, _ := os.ReadFile(settings); string(data) != before {
		t.Errorf("the dry run wrote %q", data)
	}
	run("install", "claude")
	if out := run("install", "claude"); !strings.Contains(out, "nothing to change") {
		t.Errorf("second install: %s", out)
	}
	run("uninstall", "claude")
	if after := tree(); after != empty {
		t.Errorf("before:\n%safter:\n%s", empty, after)
	}
	if data, _ := os.ReadFile(settings); string(data) != before {
		t.Errorf("after uninstall: %q", data)
	}
}
