package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"c2c/cmd/cli"
)

func mustRun(t *testing.T, root, session string, args ...string) string {
	t.Helper()
	out, errs, code := run(t, root, session, args...)
	if code != cli.Done {
		t.Fatalf("%q: exit %d, %s", args, code, errs)
	}
	return out
}

func TestAFullMailboxIsExit5AndNothingIsLost(t *testing.T) {
	root := scratch(t)
	name := filepath.Join(root, "amber.lease", "00000001-20000-93.json") // a name counts
	full := "[\n" + `{"from_alias":"birch","to_alias":"amber","content":"last","ts":1.5,"message_id":"m"}` + "\n]\n"
	if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(full), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, errs, code := run(t, root, "birch", "send", "amber", "one more")
	if code != cli.Full || !strings.Contains(errs, "must read its mail") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != full {
		t.Errorf("the file is %s, %v", data, err)
	}
}

// Each file of the root is broken in its turn: what it says is reported or
// kept aside, and the message that stands beside it is read.
func TestABrokenFileCostsNoMessage(t *testing.T) {
	for name, lines := range map[string]string{
		"amber.inbox.json":              "[\n{\"from_alias\":\"birch\",\"to_alias\":\"amber\",\"content\":\"first\",\"ts\":1.5,\"message_id\":\"m-0\"},\n{\"from_al",
		"amber.lease/00000001-9-9.json": `[{"from_al`,
		"sessions/amber.json":           `{"alias":`,
		"sessions/birch.json":           `[]`,
		"archive/amber.jsonl":           `{"drained_at":`,
		"dead-letter.jsonl":             `{"deleted_at":`,
		"broker.log":                    `{"ts":`,
		"amber.lease/not-ours":          `?`,
		"amber.inbox.json.tmp.":         `half`,
	} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			root := scratch(t)
			mustRun(t, root, "birch", "send", "amber", "seen") // makes the folders
			mustRun(t, root, "amber", "poll-inbox")
			if err := os.WriteFile(filepath.Join(root, name), []byte(lines), 0o600); err != nil {
				t.Fatal(err)
			}
			mustRun(t, root, "birch", "send", "amber", "second")
			out := mustRun(t, root, "amber", "poll-inbox")
			if !strings.Contains(out, "second") || strings.Contains(lines, "first") && !strings.Contains(out, "first") {
				t.Errorf("read %s", out)
			}
			if out := mustRun(t, root, "amber", "history"); !strings.Contains(out, "second") {
				t.Errorf("history %s", out)
			}
			mustRun(t, root, "amber", "list")
			mustRun(t, root, "amber", "dead-letter")
			if !strings.HasSuffix(name, ".inbox.json") {
				return
			}
			aside, _ := filepath.Glob(filepath.Join(root, name+".corrupt-*"))
			if len(aside) != 1 {
				t.Errorf("kept aside: %q", aside)
			} else if data, _ := os.ReadFile(aside[0]); string(data) != lines {
				t.Errorf("kept aside as %q", data)
			}
		})
	}
}

func TestPlantedFilesAreRefusedAndDoNotBlock(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, []byte("[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plants := map[string]func(string) error{
		"symlink":   func(p string) error { return os.Symlink(elsewhere, p) },
		"fifo":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"device":    func(p string) error { return syscall.Mknod(p, syscall.S_IFCHR|0o600, 1<<8|3) },
	}
	for kind, plant := range plants {
		for _, name := range []string{"amber.inbox.json", "amber.inbox.lock", "registry.json", "dead-letter.jsonl"} {
			root := scratch(t)
			args := []string{"send", "amber", "x"}
			if name == "dead-letter.jsonl" {
				mustRun(t, root, "birch", args...)
				args = []string{"sweep", "--grace", "0s"}
			}
			path := filepath.Join(root, name)
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if err := plant(path); kind == "device" && os.IsPermission(err) {
				continue // nobody but root can plant one
			} else if err != nil {
				t.Fatal(err)
			}
			_, errs, code := run(t, root, "birch", args...)
			if code == cli.Done || !strings.Contains(errs, name) {
				t.Errorf("%s as %s: exit %d, %s", kind, name, code, errs)
			}
			if data, err := os.ReadFile(elsewhere); err != nil || string(data) != "[]\n" {
				t.Fatalf("%s as %s: the file elsewhere is %q, %v", kind, name, data, err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if args[0] == "sweep" {
				mustRun(t, root, "", "register", "amber", "--session-id", "amber")
				if out := mustRun(t, root, "amber", "poll-inbox"); !strings.Contains(out, "\nx\n") {
					t.Errorf("%s as %s: the mail is gone: %s", kind, name, out)
				}
			}
		}
	}
}

// A hole of a GiB takes nothing on the disk, and must not take that much memory.
func TestAHugeFileIsRefusedAndItsNameSaid(t *testing.T) {
	for _, name := range []string{"amber.inbox.json", "amber.lease/00000001-1-9.json", "registry.json", "dead-letter.jsonl", "archive/amber.jsonl", "sessions/amber.json"} {
		root := scratch(t)
		mustRun(t, root, "birch", "send", "amber", "seen")
		mustRun(t, root, "amber", "poll-inbox")
		path := filepath.Join(root, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 1<<30); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, args := range [][]string{{"send", "birch", "x"}, {"poll-inbox"}, {"history"}, {"list"}, {"dead-letter"}, {"register", "amber2"}} {
			_, errs, code := run(t, root, "amber", args...)
			if code != cli.Done {
				refused++
			}
			if code != cli.Done && (!strings.Contains(errs, name) || !strings.Contains(errs, "too large")) {
				t.Errorf("%s, %q: exit %d, %s", name, args, code, errs)
			}
		}
		if refused == 0 && strings.HasSuffix(filepath.Dir(path), "root") {
			t.Errorf("%s: nobody refused it", name)
		}
		if aside, _ := filepath.Glob(path + ".corrupt-*"); len(aside) > 0 { // what a session is known by is set aside
			path = aside[0]
		}
		if info, err := os.Stat(path); err != nil || info.Size() < 1<<30 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// Ten million brackets are valid JSON, as far as they go.
func TestDeepJSONCostsNoMessage(t *testing.T) {
	deep := strings.Repeat("[", 10<<20)
	for _, name := range []string{"amber.inbox.json", "amber.lease/00000001-1-9.json", "archive/amber.jsonl", "sessions/amber.json", "dead-letter.jsonl",
		"amber.lease/00000002-1-0-1-1-test.json"} {
		root := scratch(t)
		mustRun(t, root, "birch", "send", "amber", "seen")
		mustRun(t, root, "amber", "poll-inbox")
		if err := os.WriteFile(filepath.Join(root, name), []byte(deep), 0o600); err != nil {
			t.Fatal(err)
		}
		mustRun(t, root, "birch", "send", "amber", "x")
		if out := mustRun(t, root, "amber", "poll-inbox"); !strings.Contains(out, "\nx\n") {
			t.Errorf("%s: read %.200s", name, out)
		}
		if out := mustRun(t, root, "amber", "history"); !strings.Contains(out, "\nx\n") {
			t.Errorf("%s: history %.200s", name, out)
		}
		mustRun(t, root, "amber", "dead-letter")
	}
}

// The log is not worth a message.
func TestAPlantedLogStopsNobody(t *testing.T) {
	for _, name := range []string{"broker.log", "broker.log.lock"} {
		root := scratch(t)
		path := filepath.Join(root, name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		mustRun(t, root, "birch", "send", "amber", "x")
		if out := mustRun(t, root, "amber", "poll-inbox"); !strings.Contains(out, "\nx\n") {
			t.Errorf("%s: read %s", name, out)
		}
	}
}

// A terminal has 24 lines of 80 columns, one of them for its prompt.
func TestHelpFitsAScreen(t *testing.T) {
	root := scratch(t)
	tell := [][]string{{"help"}}
	for _, v := range cli.Verbs() {
		tell = append(tell, []string{"help", v.Name})
		for _, own := range v.Verbs {
			tell = append(tell, append([]string{"help"}, strings.Fields(own.Name)...))
		}
	}
	for _, topic := range cli.TopicNames() {
		tell = append(tell, []string{"help", topic})
	}
	for _, args := range tell {
		width := cli.Width
		if _, topic := cli.Topic(args[len(args)-1]); topic {
			width -= 7 // man indents it
		}
		out := mustRun(t, root, "amber", args...)
		lines := strings.Split(out, "\n")
		if _, topic := cli.Topic(args[len(args)-1]); !topic && len(lines) > 24 { // one of them is the empty end
			t.Errorf("%q has %d lines", args, len(lines))
		}
		for _, line := range lines {
			if len(line) > width || strings.HasSuffix(line, " ") || strings.ContainsAny(line, "`{") && args[1] != "scripting" {
				t.Errorf("%q: %d columns: %q", args, len(line), line)
			}
		}
	}
}

// Whatever way one asks for help, it is an answer: on standard output, and exit 0.
func TestEachVerbHasHelp(t *testing.T) {
	root := scratch(t)
	overview := mustRun(t, root, "amber", "help")
	for _, word := range []string{"help", "--help", "-h"} {
		if out := mustRun(t, root, "amber", "help", word); out != overview {
			t.Errorf("help %s: %s", word, out)
		}
	}
	for _, v := range cli.Verbs() {
		want := mustRun(t, root, "amber", "help", v.Name)
		if forms := strings.Fields(v.First); len(forms) > 1 {
			for _, form := range forms {
				if own, _ := v.Of([]string{form}); own.Name != v.Name {
					continue // it has a page of its own
				}
				if out := mustRun(t, root, "amber", "help", v.Name, form); out != want {
					t.Errorf("help %s %s: %s", v.Name, form, out)
				}
			}
		}
		if !strings.HasPrefix(want, "usage: c2c "+v.Name) || !strings.Contains(want, "\nexample: c2c "+v.Name) && !strings.Contains(want, "c2c "+v.Name+" bash") {
			t.Errorf("%s: %s", v.Name, want)
		}
		if v.C2cd {
			continue // it answers itself
		}
		for _, option := range []string{"--help", "-h"} {
			if out, errs, code := run(t, root, "amber", v.Name, option); code != cli.Done || out != want || errs != "" {
				t.Errorf("%s %s: exit %d, %s%s", v.Name, option, code, out, errs)
			}
		}
	}
}

func TestEachCommandHasARowAndEachRowACommand(t *testing.T) {
	for _, c := range commands() {
		name, below, _ := strings.Cut(c.name, " ")
		v, ok := cli.Find(name)
		if below != "" {
			v, _ = v.Of([]string{below})
		}
		if !ok || v.Name != c.name || v.C2cd {
			t.Errorf("%s has no row in the table", c.name)
		}
	}
	for _, v := range cli.Verbs() {
		if own := slices.ContainsFunc(commands(), func(c command) bool { return c.name == v.Name }); own == v.C2cd {
			t.Errorf("%s: it is in c2c: %t, and its row says that it is in c2cd: %t", v.Name, own, v.C2cd)
		}
	}
}

func TestHelpShowsWhatAnOptionTakes(t *testing.T) {
	root := scratch(t)
	help := mustRun(t, root, "", "poll-inbox", "--help") + mustRun(t, root, "", "send", "--help")
	for _, want := range []string{"  --wait [duration] ", "  --session-id, --from session ", "  --json ", "  -F file ", "  --reply-to id "} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in\n%s", want, help)
		}
	}
}

func TestARepeatedSendIsStoredOnce(t *testing.T) {
	root := scratch(t)
	for range 3 {
		mustRun(t, root, "birch", "send", "amber", "x", "--id", "job-17")
	}
	if n := strings.Count(mustRun(t, root, "amber", "peek-inbox"), `id="job-17"`); n != 1 {
		t.Errorf("stored %d times", n)
	}
	mustRun(t, root, "amber", "poll-inbox")
	if out := mustRun(t, root, "birch", "send", "amber", "x", "--id", "job-17"); !strings.Contains(out, "before") {
		t.Errorf("after it was read: %s", out)
	}
	if out := mustRun(t, root, "birch", "status", "job-17"); !strings.Contains(out, "read by cli_poll") {
		t.Errorf("status %s", out)
	}
}

// What the OCaml c2c wrote: other fields, whole seconds, no ids.
func TestFilesOfTheOriginalAreReadAndSurvive(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("registry.json", `[{"session_id":"amber","alias":"amber","pid":null,"registered_at":1.0,"dnd":false,"enc_pubkey":"k"},
		{"session_id":"birch","alias":"birch","registered_at":2.0}]`)
	write("amber.inbox.json", `[{"from_alias":"birch","to_alias":"amber","content":"old","ts":3,"future":{"a":1}}]`)
	mustRun(t, root, "birch", "send", "amber", "new")
	data, err := os.ReadFile(filepath.Join(root, "amber.inbox.json"))
	if err != nil || !strings.Contains(string(data), `"future":{"a":1}`) {
		t.Errorf("inbox %s, %v", data, err)
	}
	out := mustRun(t, root, "amber", "poll-inbox")
	if old, new := strings.Index(out, "\nold\n"), strings.Index(out, "\nnew\n"); old < 0 || new < old {
		t.Errorf("read %s", out)
	}
	mustRun(t, root, "", "register", "coral", "--session-id", "coral")
	if data, _ := os.ReadFile(filepath.Join(root, "registry.json")); !strings.Contains(string(data), `"enc_pubkey":"k"`) {
		t.Errorf("registry %s", data)
	}
	if n := fmt.Sprint(strings.Count(mustRun(t, root, "amber", "list"), "\n")); n != "4" {
		t.Errorf("list has %s lines", n)
	}
}

// Something that is no file of c2c's stands where one belongs: the error says what to do.
func TestWhatIsNoFileOfOursIsToldWithAHint(t *testing.T) {
	root := scratch(t)
	mustRun(t, root, "birch", "register", "amber", "--session-id", "amber")
	file := filepath.Join(root, "amber.inbox.json")
	for name, plant := range map[string]func() error{
		"folder": func() error { return os.Mkdir(file, 0o700) },
		"link":   func() error { return os.Symlink("elsewhere", file) },
		"hole":   func() error { return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<40)) },
	} {
		if err := errors.Join(os.RemoveAll(file), plant()); err != nil {
			t.Fatal(err)
		}
		_, errs, code := run(t, root, "birch", "send", "amber", "x")
		if code == cli.Done || !strings.Contains(errs, "hint: ") || !strings.Contains(errs, "move it away") {
			t.Errorf("%s: exit %d, %s", name, code, errs)
		}
	}
}
