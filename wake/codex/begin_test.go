package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/wake"
)

func TestASessionIsBegunWithItsName(t *testing.T) {
	s := newAppServer(t)
	var cwd string
	var items any
	s.answers["thread/start"] = func(params map[string]any) string {
		cwd, _ = params["cwd"].(string)
		return `{"thread":{"id":"t-9"}}`
	}
	s.answers["thread/inject_items"] = func(params map[string]any) string {
		items = params["items"]
		return `{}`
	}
	id, args, err := Begin(t.Context(), wake.Start{Config: s.home, Dir: "/work", Alias: "birch", Args: []string{"-m", "big", "hello"}})
	if err != nil || id != "t-9" || fmt.Sprint(args) != "[resume t-9 -m big hello]" || cwd != "/work" || !strings.Contains(fmt.Sprint(items), "Your alias in c2c is birch.") {
		t.Errorf("%q, %q, %v in %q with %v", id, args, err, cwd, items)
	}
	s.answer("thread/start", `{"thread":{"id":"--yolo"}}`)
	if _, args, err := Begin(t.Context(), wake.Start{Config: s.home}); err == nil {
		t.Errorf("an id that is an option: %q", args)
	}
}

func TestASessionThatCannotBeBegunSaysWhy(t *testing.T) {
	for _, arg := range []string{"-c", "-cmodel=x", "--config=x", "--search", "--no-daemon", "resume", "exec"} {
		if _, _, err := Begin(t.Context(), wake.Start{Args: []string{"-m", "big", arg}}); err == nil || !strings.Contains(err.Error(), "leave --alias out") {
			t.Errorf("%s: %v", arg, err)
		} else if arg == "resume" && !strings.Contains(err.Error(), "a session that is resumed keeps its name") {
			t.Errorf("%s: %v", arg, err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "codex")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$@ fails\" >&2; exit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Begin(t.Context(), wake.Start{Path: path, Config: dir, Dir: dir, Alias: "birch"}); err == nil || !strings.Contains(err.Error(), "app-server daemon start fails") {
		t.Errorf("no daemon: %v", err)
	}
	s := newAppServer(t)
	s.answer("thread/start", `{"thread":{"id":"t-9"}}`)
	s.answer("thread/inject_items", `{"error":{"code":-32600,"message":"no such method"}}`)
	if _, _, err := Begin(t.Context(), wake.Start{Config: s.home}); err == nil || !strings.Contains(err.Error(), "no such method") {
		t.Errorf("refused: %v", err)
	}
}
