package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheBuildIDIsWhatGoSays(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	ids := map[string]bool{}
	for _, system := range []string{"linux", "darwin"} {
		for _, words := range []string{"one", "two"} {
			if err := os.WriteFile(source, []byte("package main\nfunc main() { println(\""+words+"\") }\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, system+words)
			cmd := exec.Command(goTool, "build", "-trimpath", "-ldflags=-s -w", "-o", program, source)
			cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			out, err := exec.Command(goTool, "tool", "buildid", program).Output()
			want := strings.TrimSpace(string(out))
			if got := BuildID(program); err != nil || got != want || want == "" {
				t.Errorf("%s: %q, want %q, %v", system, got, want, err)
			}
			ids[want] = true
		}
	}
	if len(ids) != 4 {
		t.Errorf("two builds have one id: %v", ids)
	}
}

func TestWhatIsNoProgramHasNoBuildID(t *testing.T) {
	note := "\x04\x00\x00\x00Go\x00\x00"
	for _, text := range []string{"", note, "12345678" + note, "1234\xff\xff\xff\xff" + note + "abc", "\xff Go build ID: \"abc", "\xff Go build ID: \"" + strings.Repeat("x", 300) + "\"\n \xff"} {
		if got := buildIDIn([]byte(text)); got != "" {
			t.Errorf("%q has %q", text, got)
		}
	}
	if got := BuildID(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("a file that is not there has %q", got)
	}
}
