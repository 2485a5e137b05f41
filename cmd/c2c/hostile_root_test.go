package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/serve/live"
)

// lived makes a root with a file of every kind, and one session, cedar, whose mail nothing of that
// touches.
func lived(t *testing.T) string {
	t.Helper()
	root := scratch(t)
	mustRun(t, root, "", "register", "cedar", "--session-id", "cedar")
	mustRun(t, root, "", "register", "dead", "--session-id", "dead")
	mustRun(t, root, "birch", "send", "cedar", "for cedar alone", "--id", "for-cedar")
	mustRun(t, root, "birch", "send", "amber", "read long ago", "--id", "m-0")
	mustRun(t, root, "birch", "send", "amber", "is it so?", "--kind", "question")
	mustRun(t, root, "amber", "poll-inbox")
	mustRun(t, root, "amber", "reply", "it is")
	mustRun(t, root, "birch", "send", "amber", strings.Repeat("long ", 13<<10))
	mustRun(t, root, "birch", "send", "amber", "is it still so?", "--kind", "question", "--urgent")
	mustRun(t, root, "birch", "send", "dead", "nobody reads this")
	mustRun(t, root, "birch", "dnd", "on")
	return root
}

// files gives what is in a root, but for what has no content.
func files(t *testing.T, root string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if name, rerr := filepath.Rel(root, path); len(data) > 0 {
			all[name], err = data, errors.Join(err, rerr)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// plant writes a root anew.
func plant(t *testing.T, root string, all map[string][]byte) {
	t.Helper()
	err := os.RemoveAll(root)
	for name, data := range all {
		path := filepath.Join(root, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

var (
	aNumber = regexp.MustCompile(`:-?\d[\d.]*`)
	aText   = regexp.MustCompile(`:"(?:[^"\\]|\\.)*"`)
	aFirst  = regexp.MustCompile(`\{("[^"]*"):`)
)

// eachObject rewrites each JSON text of a file, of which there may be one a line.
func eachObject(data []byte, as func([]byte) []byte) (out []byte) {
	if json.Valid(data) {
		return as(data)
	}
	for line := range bytes.Lines(data) {
		out = append(append(out, as(line)...), '\n')
	}
	return out
}

// layouts are what other programs and accidents make of a file.
var layouts = map[string]func([]byte) []byte{
	"pretty": func(d []byte) []byte {
		return eachObject(d, func(one []byte) []byte {
			var b bytes.Buffer
			json.Indent(&b, one, "", "  ")
			return b.Bytes()
		})
	},
	"one line": func(d []byte) []byte { return bytes.ReplaceAll(d, []byte("\n"), nil) },
	"sorted": func(d []byte) []byte {
		return eachObject(d, func(one []byte) []byte {
			var v any
			if json.Unmarshal(one, &v) != nil {
				return one
			}
			b, _ := json.Marshal(v)
			return b
		})
	},
	"CRLF":        func(d []byte) []byte { return bytes.ReplaceAll(d, []byte("\n"), []byte("\r\n")) },
	"BOM":         func(d []byte) []byte { return append([]byte("\ufeff"), d...) },
	"zeros":       func(d []byte) []byte { return make([]byte, len(d)) },
	"zeros ahead": func(d []byte) []byte { return append(make([]byte, 4096), d...) },
	"zeros behind": func(d []byte) []byte {
		return append(bytes.Clone(d), make([]byte, 4096)...)
	},
	"twice a key": func(d []byte) []byte { return aFirst.ReplaceAll(d, []byte(`{$1:null,$1:7,$1:`)) },
	"deep": func(d []byte) []byte {
		return aFirst.ReplaceAll(d, []byte(`{"x":`+strings.Repeat(`[{"y":`, 300)+"1"+strings.Repeat("}]", 300)+`,$1:`))
	},
	"too deep":     func([]byte) []byte { return []byte(`[{"a":` + strings.Repeat("[", 20_000)) },
	"huge numbers": func(d []byte) []byte { return aNumber.ReplaceAll(d, []byte(":1e308")) },
	"no numbers":   func(d []byte) []byte { return aNumber.ReplaceAll(d, []byte(":1e999")) },
	"long numbers": func(d []byte) []byte { return aNumber.ReplaceAll(d, []byte(":-"+strings.Repeat("9", 400))) },
	"no texts":     func(d []byte) []byte { return aText.ReplaceAll(d, []byte(`:{"a":[1]}`)) },
	"texts":        func(d []byte) []byte { return aNumber.ReplaceAll(d, []byte(`:"1"`)) },
	"empty texts":  func(d []byte) []byte { return aText.ReplaceAll(d, []byte(`:""`)) },
	"no UTF-8":     func(d []byte) []byte { return aText.ReplaceAll(d, []byte(":\"\xff\xc0\x80\"")) },
	"null":         func([]byte) []byte { return []byte("null") },
	"a list":       func([]byte) []byte { return []byte("[[],{},null,1,\"x\"]\n") },
	"a bracket":    func([]byte) []byte { return []byte("[\n{\n") },
	"an object":    func([]byte) []byte { return []byte("{}") },
	"nothing":      func([]byte) []byte { return nil },
}

// Nothing that stands in a file of a root ends a command, or the work of what looks at the whole
// root, or costs another session its mail.
func TestNoFileOfARootEndsACommand(t *testing.T) {
	t.Parallel()
	root := lived(t)
	all := files(t, root)
	for _, want := range []string{"registry.json", "amber.inbox.json", "archive/amber.jsonl", "sessions/amber.json", "broker.log"} {
		if all[want] == nil {
			t.Fatalf("no %s in %q", want, slices.Sorted(maps.Keys(all)))
		}
	}
	turn := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, what := range slices.Sorted(maps.Keys(layouts)) {
			verbs := [][]string{{"list"}}
			for range verbsAtOnce { // each verb meets each file, and each layout
				verbs = append(verbs, everyVerb[turn%len(everyVerb)])
				turn++
			}
			wantUnharmed(t, root, all, name, what, layouts[what](all[name]), append(verbs, []string{"poll-inbox"}))
		}
	}
}

// Cut off at any byte: a few of the places of each file, and all of those at its ends.
func TestNoFileThatIsCutOffEndsACommand(t *testing.T) {
	t.Parallel()
	root := lived(t)
	all := files(t, root)
	for name, data := range all {
		step := max(1, len(data)/5)
		for n := 0; n < len(data); n++ {
			if n%step == 0 || n == 1 || n > len(data)-3 {
				wantUnharmed(t, root, all, name, fmt.Sprintf("cut at %d", n), data[:n], [][]string{{"list"}, {"whoami"}, {"poll-inbox"}})
			}
		}
	}
}

// verbsAtOnce has nothing in common with the number of verbs.
const verbsAtOnce = 4

var everyVerb = [][]string{
	{"list", "--json"}, {"whoami"}, {"whoami", "--json"}, {"peek-inbox"}, {"status", "m-0"}, {"outbox"}, {"obligations"},
	{"thread", "m-0"}, {"search", "long"}, {"history"}, {"dead-letter"}, {"hook"}, {"prune", "--dry-run"}, {"sweep", "--dry-run"}, {"dnd"},
	{"send", "amber", "new", "--id", "m-9"}, {"send", "birch", "new too"}, {"send-all", "to all"}, {"reply", "and so on"}, {"handover", "amber"},
	{"resume", "amber"}, {"register", "amber2"}, {"sweep"},
}

// wantUnharmed runs commands of two sessions, and looks at the whole root as a daemon does, with
// one file of it changed.
func wantUnharmed(t *testing.T, root string, all map[string][]byte, name, what string, data []byte, verbs [][]string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s, %s: %v", name, what, p)
		}
	}()
	plant(t, root, all)
	if err := os.WriteFile(filepath.Join(root, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	wantView(t, root)
	for _, verb := range verbs {
		out, errs, code := run(t, root, "amber", verb...)
		if code != cli.Done && errs == "" {
			t.Errorf("%s, %s: %q ends with %d and says nothing", name, what, verb, code)
		}
		if verb[0] == "list" && !strings.HasPrefix(name, "registry") && !strings.Contains(out, "cedar") {
			t.Errorf("%s, %s: %q has no cedar: %s%s", name, what, verb, out, errs)
		}
	}
	wantView(t, root)
	if name == "registry.json" { // a session whose row is lost registers again
		run(t, root, "", "register", "cedar", "--session-id", "cedar")
	}
	if strings.HasPrefix(name, "cedar.") {
		return
	}
	if out, errs, _ := run(t, root, "cedar", "poll-inbox"); strings.Count(out, "for cedar alone") != 1 {
		t.Errorf("%s, %s: cedar reads %q, %s", name, what, out, errs)
	}
}

var errSeen = errors.New("seen")

// wantView looks at the root as the daemon's hub does, once.
func wantView(t *testing.T, root string) {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = live.New(b, 100).Run(ctx, func(live.Update) error { return errSeen })
	if err != nil && err != errSeen {
		t.Logf("view: %v", err)
	}
}
