package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Lab stands for one person's computer: it has a home, a project under git, and answers to the
// questions of the clients' first start.
type Lab struct {
	Home, Project string

	t        testing.TB
	programs Programs
	extra    []string // additional variables for all programs that run here
	before   []string // words before each command line
}

// New makes a home and a project for the test. At the end of the test it kills all processes with
// that home.
func New(t testing.TB, programs Programs) *Lab {
	t.Helper()
	base, err := os.MkdirTemp(programs.Scratch, "lab-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	l := &Lab{Home: filepath.Join(base, "home"), Project: filepath.Join(base, "proj"), t: t, programs: programs}
	t.Cleanup(func() {
		if err := stopAll(l.Home); err != nil {
			t.Errorf("end what runs in %s: %v", l.Home, err)
		}
	})
	for _, dir := range []string{l.Home, l.Project} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l.Write(".gitconfig", "[user]\n\tname = Lab\n\temail = lab@example.invalid\n")
	l.Run("git", "init", "-q", "-b", "main", l.Project)
	l.Run("git", "commit", "-q", "--allow-empty", "-m", "start")
	return l
}

// Setenv adds a variable for each program that this lab starts from now on.
func (l *Lab) Setenv(key, value string) { l.extra = append(l.extra, key+"="+value) }

// Inside puts words before the command line of each program that this lab starts from now on. The
// words are a program, with its arguments, that runs the given command line, for example in a
// network namespace.
func (l *Lab) Inside(words ...string) { l.before = words }

// Env returns the whole environment of the person's shell. It passes on nothing from the machine's
// environment.
func (l *Lab) Env(more ...string) []string {
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, dir := range []string{l.programs.Node, l.programs.Bin} {
		if dir != "" {
			path = dir + ":" + path
		}
	}
	env := []string{
		"HOME=" + l.Home, "PATH=" + path, "USER=lab", "LOGNAME=lab", "SHELL=/bin/bash",
		"LANG=C.UTF-8", "TERM=xterm-256color",
	}
	return append(append(env, l.extra...), more...)
}

// Run runs a program in the project, as the person would, and returns its standard output.
func (l *Lab) Run(argv ...string) string {
	l.t.Helper()
	out, err := l.Try(argv...)
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// Try is Run for a program that may fail. The error contains the program's standard error.
func (l *Lab) Try(argv ...string) (string, error) {
	program := argv[0]
	if l.programs.Bin != "" && strings.HasPrefix(program, "c2c") {
		program = filepath.Join(l.programs.Bin, program)
	}
	line := slices.Concat(l.before, []string{program}, argv[1:])
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = l.Project, l.Env()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, errs.String())
	}
	return out.String(), nil
}

// Write writes a file below the home.
func (l *Lab) Write(name, content string) string {
	l.t.Helper()
	return writeFile(l.t, filepath.Join(l.Home, name), content)
}

// WriteProject writes a file below the project.
func (l *Lab) WriteProject(name, content string) string {
	l.t.Helper()
	return writeFile(l.t, filepath.Join(l.Project, name), content)
}

func writeFile(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	mode := os.FileMode(0o600)
	if strings.HasPrefix(content, "#!") {
		mode = 0o700
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// Read returns the content of a file below the home.
func (l *Lab) Read(name string) string {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.Home, name))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(data)
}

// WaitFile waits until a file below the home that matches the pattern contains text.
func (l *Lab) WaitFile(pattern, text string) {
	l.t.Helper()
	l.WaitFileCount(pattern, text, 1)
}

// WaitFileCount waits until such a file contains text at least n times.
func (l *Lab) WaitFileCount(pattern, text string, n int) {
	l.t.Helper()
	l.WaitUntil(fmt.Sprintf("%s with %q, %d times", pattern, text, n), func() bool {
		paths, err := filepath.Glob(filepath.Join(l.Home, pattern))
		if err != nil {
			l.t.Fatal(err)
		}
		for _, path := range paths {
			if data, _ := os.ReadFile(path); strings.Count(string(data), text) >= n {
				return true
			}
		}
		return false
	})
}

// WaitUntil waits until ok returns true, because a client has changed a file. what describes the
// condition for people.
func (l *Lab) WaitUntil(what string, ok func() bool) {
	l.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond) // poll: the client's write sends no signal
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			l.t.Fatalf("no %s", what)
		}
	}
}

// merge adds settings to all, at any depth, and returns all.
func merge(all, settings map[string]any) map[string]any {
	for k, v := range settings {
		above, isMap := all[k].(map[string]any)
		more, areMore := v.(map[string]any)
		if isMap && areMore {
			v = merge(above, more)
		}
		all[k] = v
	}
	return all
}

// mustJSON returns a configuration as JSON.
func mustJSON(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}
