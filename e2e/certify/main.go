// Command certify tests the newest version of each client on npm: it runs the tests that start the
// client with that version in place of the pinned one. It writes a line for each client into
// docs/inside/certified.md. The exit status is 1 if a test fails.
//
//	go run ./e2e/certify [client[@version] ...]      in the top directory
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"c2c/client"
)

const page = "docs/inside/certified.md"

const pageHead = `# Other versions of the clients

` + "`make certify`" + ` ran the tests of the real clients on these: the newest version on npm, or the one that it was asked for.

| client | pinned | tried | date | result |
|---|---|---|---|---|
`

func main() {
	failed, err := certify(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "certify:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// certify tests the clients that are named, or all.
func certify(names []string) (failed bool, err error) {
	wanted := map[string]string{} // a version for each client, "" for the newest
	for _, name := range names {
		name, version, _ := strings.Cut(name, "@")
		wanted[name] = version
		if _, known := client.Find(name); !known {
			return false, fmt.Errorf("no client %q; there are %s", name, strings.Join(client.Names(), ", "))
		}
	}
	old, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	err = nil
	table := pageHead
	for _, p := range client.All() {
		if p.Package == "" {
			continue // it cannot be run
		}
		row := rowOf(old, p.Title)
		if version, named := wanted[p.Name]; named || len(names) == 0 {
			result, bad, terr := try(p, version)
			if terr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", p.Name, terr))
			} else {
				failed, row = failed || bad, result
			}
		}
		table += row
	}
	return failed, errors.Join(err, os.WriteFile(page, []byte(table), 0o644))
}

// rowOf returns the row of a client from an older run; "" if there is none.
func rowOf(page []byte, title string) string {
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| "+title+" |") {
			return line
		}
	}
	return ""
}

// try runs the tests of a client with a version ("" means the newest), and returns the client's row
// of the table and whether a test has failed. It prints the failed tests to standard error.
func try(p client.Profile, version string) (row string, failed bool, err error) {
	if version == "" {
		out, err := exec.Command("npm", "view", p.Package, "version").Output()
		if version = strings.TrimSpace(string(out)); err != nil || version == "" {
			return "", false, fmt.Errorf("ask npm for the newest version: %v", err)
		}
	}
	row = fmt.Sprintf("| %s | %s | %s | %s | ", p.Title, p.Tested, version, time.Now().Format(time.DateOnly))
	if version == p.Tested {
		fmt.Fprintf(os.Stderr, "certify: %s: %s is the pinned version\n", p.Title, version)
		return row + "the pinned version: `make e2e` runs it |\n", false, nil
	}
	tests, err := testsOf(p.Name)
	if err != nil {
		return "", false, err
	}
	fmt.Fprintf(os.Stderr, "certify: %s %s: %d tests\n", p.Title, version, len(tests))
	passed, failures, err := run(p.Package+"@"+version, tests)
	if err != nil {
		return "", false, err
	}
	for _, f := range failures {
		fmt.Fprintf(os.Stderr, "certify: %s %s, not as %s: %s\n%s", p.Title, version, p.Tested, f.test, f.says)
	}
	row += fmt.Sprintf("%d tests passed", passed)
	if len(failures) > 0 {
		row += fmt.Sprintf(", **%d failed**:", len(failures))
	}
	for _, f := range failures {
		row += " `" + f.test + "`"
	}
	return row + " |\n", len(failures) > 0, nil
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t `)

// testsOf returns the tests of every file that names the client. Some of them are for other
// clients, and cost only time.
func testsOf(name string) (tests []string, err error) {
	files, err := filepath.Glob("e2e/*_test.go")
	if err != nil || len(files) == 0 {
		return nil, cmp.Or(err, fmt.Errorf("no e2e/*_test.go here"))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(bytes.ToLower(text), []byte(name)) {
			continue
		}
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			tests = append(tests, string(m[1]))
		}
	}
	return tests, nil
}

// A failure is a test, and its log lines with their file and line number.
type failure struct{ test, says string }

// run makes scripts/e2e.sh run the tests with another version of a client. If not all tests were
// run, it returns an error.
func run(instead string, tests []string) (passed int, failures []failure, err error) {
	cmd := exec.Command("bash", "scripts/e2e.sh", "-json", "-run", "^("+strings.Join(tests, "|")+")$")
	cmd.Env, cmd.Stderr = append(os.Environ(), "C2C_E2E_INSTEAD="+instead), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	passed, failures, err = results(out)
	ended := cmd.Wait() // no error by itself, because failures says the same
	if err == nil && passed+len(failures) < len(tests) {
		err = fmt.Errorf("of %d tests %d were run: %v", len(tests), passed+len(failures), ended)
	}
	return passed, failures, err
}

var said = regexp.MustCompile(`^\s+\w+_test\.go:\d+: `)

// results reads the output of go test -json, for whole tests only. It returns how many passed, and
// those that failed.
func results(out io.Reader) (passed int, failures []failure, err error) {
	says := map[string]string{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Test == "" || strings.Contains(event.Test, "/") {
			continue
		}
		switch event.Action {
		case "output":
			if said.MatchString(event.Output) && !strings.Contains(event.Output, "was ready after") {
				says[event.Test] += event.Output
			}
		case "pass":
			passed++
		case "fail":
			failures = append(failures, failure{event.Test, says[event.Test]})
		}
	}
	return passed, failures, lines.Err()
}
