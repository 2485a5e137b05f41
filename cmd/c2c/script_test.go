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

	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
)

var update = flag.Bool("update", false, "write the expected output into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"c2c": main, "c2c-impatient": impatient, "shape": shape})
}

// TestScripts runs testdata/scripts: c2c as a stranger meets it, one program run a line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("..", "..", "testdata", "scripts"),
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
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
