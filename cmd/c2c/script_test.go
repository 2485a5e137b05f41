package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/cmd/rare"
	"c2c/cmd/roomed"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

var update = flag.Bool("update", false, "write the expected output into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(withC2cd{m}, map[string]func(){"c2c": main, "c2cd": c2cd, "c2c-impatient": impatient, "shape": shape})
}

// withC2cd are the tests with a c2cd beside their program, where c2c looks for it. It is their program, too.
type withC2cd struct{ testscript.TestingM }

func (w withC2cd) Run() int {
	path, err := findC2cd()
	if err == nil {
		var self string
		if self, err = os.Executable(); err == nil {
			err = os.Symlink(self, path)
		}
	}
	if errors.Is(err, os.ErrExist) { // a test runs this program again
		return w.TestingM.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.Remove(path)
	return w.TestingM.Run()
}

// inScript is set where c2c is a program of its own.
const inScript = "C2C_TEST_SCRIPT"

// c2cd is that program, as far as the verbs of package rare go.
func c2cd() {
	if os.Args[1] != "keep" && os.Getenv(inScript) == "" {
		fmt.Fprintf(os.Stderr, "a test has run %q in its own process, which c2cd has replaced\n", os.Args[1:])
		os.Exit(1)
	}
	cwd, _ := os.Getwd()
	a := &app{os.Stdin, os.Stdout, os.Stderr, os.Getenv, cwd, lockWait}
	os.Exit(a.mainOfC2cd(context.Background(), os.Args[1:]))
}

func (a *app) mainOfC2cd(ctx context.Context, args []string) int {
	stdout := &mail.VisibleWriter{W: a.stdout}
	a.stdout, a.stderr = stdout, &mail.VisibleWriter{W: a.stderr}
	v, _ := cli.Find(args[0])
	run := func() error {
		return rare.RunRare(ctx, rare.RareProgram{Stdout: a.stdout, Stderr: a.stderr, Getenv: a.getenv, Cwd: a.cwd, LockWait: a.lockWait}, v, args[1:])
	}
	room := roomed.RoomProgram{Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr, Getenv: a.getenv, Open: func() (*broker.Broker, error) { return a.open(false) }, Wait: a.lockWait}
	if v.Name == "rooms" {
		run = func() error { return roomed.RunRooms(ctx, room, v, args[1:]) }
	}
	err := run()
	if errors.Is(err, cli.ErrHelp) {
		v.Help(a.stdout)
		err = nil
	}
	if err == nil && stdout.Err != nil {
		err = fmt.Errorf("write answer: %w", stdout.Err)
	}
	return a.report(args, err)
}

// any runs a verb of c2c, or of package rare as if c2c had run c2cd.
func (a *app) any(ctx context.Context, args []string) int {
	if slices.Contains(rare.RareNames, args[0]) {
		return a.mainOfC2cd(ctx, args)
	}
	return a.main(ctx, args)
}

// TestScripts runs testdata/scripts: c2c as a stranger meets it, one program run a line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("..", "..", "testdata", "scripts"),
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv(inScript, "1")
			env.Setenv("C2C_MCP_BROKER_ROOT", filepath.Join(env.WorkDir, "root"))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each run sleeps for a second under the race detector
			// Where the umask is 002, what is unpacked for a script would be everybody's to write.
			err := os.Chmod(filepath.Join(env.WorkDir, "root"), 0o700)
			if errors.Is(err, os.ErrNotExist) {
				err = nil
			}
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "hold": hold, "example": example},
	})
}

// exits N program args… runs the program, which must end with this exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if ended := new(exec.ExitError); errors.As(err, &ended) {
		code, err = ended.ExitCode(), nil
	}
	ts.Check(err)
	if want, err := strconv.Atoi(args[0]); err != nil || code != want {
		ts.Fatalf("exit %d, want %s", code, args[0])
	}
}

// hold file takes the lock of a file until the end of the script.
func hold(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	dir, err := atomicfile.Open(filepath.Dir(path))
	ts.Check(err)
	lock, err := atomicfile.Acquire(context.Background(), dir, filepath.Base(path))
	ts.Check(err)
	ts.Defer(func() { lock.Release(); dir.Close() })
}

// example verb runs the example that the help of a verb shows, in bash.
func example(ts *testscript.TestScript, _ bool, args []string) {
	v, ok := cli.Find(args[0])
	if !ok {
		ts.Fatalf("no verb %s", args[0])
	}
	for _, line := range v.Shows() {
		ts.Check(ts.Exec("bash", "-c", line))
	}
}

// impatient is c2c that does not wait for a lock.
func impatient() {
	cwd, _ := os.Getwd()
	a := &app{os.Stdin, os.Stdout, os.Stderr, os.Getenv, cwd, time.Millisecond}
	os.Exit(a.main(context.Background(), os.Args[1:]))
}

// shape prints the names and types of the fields of the JSON on standard input.
func shape() {
	data, err := io.ReadAll(os.Stdin)
	var v any
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(shapeOf(v))
}

// shapeOf describes an array by its first element.
func shapeOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var fields []string
		for name, value := range v {
			fields = append(fields, name+":"+shapeOf(value))
		}
		slices.Sort(fields)
		return "{" + strings.Join(fields, " ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + shapeOf(v[0]) + "]"
	case string:
		return "text"
	case float64:
		return "number"
	}
	return fmt.Sprint(v) // true, false, null
}
