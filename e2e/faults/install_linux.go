package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// own holds the person's files as they are before c2c is installed.
var own = map[string]string{
	"home/.claude/settings.json": "{\n\t\"model\": \"x\", // mine\n\t\"hooks\": {\"Stop\": []}\n}\n",
	"home/.codex/config.toml":    "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"other\"\n",
	"home/.codex/hooks.json":     "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}}\n",
	"home/.claude.json":          "{\n  \"mcpServers\": {\"other\": {\"command\": \"other\"}}\n}\n",
}

// equip writes the person's own files.
func equip(p *place) error {
	for name, text := range own {
		if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(p.path(name), []byte(text), 0o640); err != nil {
			return err
		}
	}
	return p.keep()
}

// bare makes the state of a home in which only the client has been started.
func bare(client string) func(*place) error {
	return func(p *place) error {
		if err := os.Mkdir(p.path("home/."+client), 0o755); err != nil {
			return err
		}
		return p.keep()
	}
}

// keep records all of the person's files.
func (p *place) keep() (err error) {
	p.person, err = p.read("home", "project")
	return err
}

func installs() (all []*scenario) {
	for _, client := range []string{"claude", "codex"} {
		for state, prepare := range map[string]func(*place) error{"beside others": equip, "on its own": bare(client)} {
			put := []string{"c2cd", "install", client}
			take := []string{"c2cd", "uninstall", client}
			installed := func(p *place) error {
				if err := prepare(p); err != nil {
					return err
				}
				_, err := p.run("", put...)
				return err
			}
			in := &scenario{name: "install " + client + ", " + state, command: put, prepare: prepare}
			in.check = func(v *verdict) { in.checkEdits(v, put, take) }
			out := &scenario{name: "uninstall " + client + ", " + state, command: take, prepare: installed}
			out.check = func(v *verdict) { out.checkEdits(v, take, put) }
			all = append(all, in, out)
		}
	}
	return sorted(all)
}

// clientFiles leaves out c2c's own files, which are undo records, the directories, and leftovers of
// killed writers.
func clientFiles(all files) files {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(name string, _ file) bool {
		return strings.HasPrefix(name, "home/.local/") || strings.HasSuffix(name, "/") || len(litter(files{name: {}}, false)) > 0
	})
	return all
}

// checkEdits checks three things: each file has either its old or its new content; the command, run
// again, completes the edit; and an uninstall restores everything.
func (s *scenario) checkEdits(v *verdict, again, back []string) {
	after := v.tree()
	old, edited := clientFiles(v.home()), clientFiles(v.edited)
	for name, f := range clientFiles(after) {
		if was, made := old[name], edited[name]; f != was && f != made {
			v.wrong("%s is neither old nor new: mode %v, %q", name, f.mode, f.data)
		}
	}
	for name := range old {
		_, kept := edited[name]
		if _, now := after[name]; kept && !now {
			v.wrong("%s is gone", name)
		}
	}
	if v.run.code == 0 && !v.run.killed {
		v.equal("acknowledged", clientFiles(after), edited)
	}
	// After a kill check both ways; after an error check only one, in turn.
	if v.run.killed || v.fault.n%2 == 0 {
		v.must("", again...)
		v.equal("after a retry", clientFiles(v.tree()), edited)
		v.clean(false)
		if back[1] == "uninstall" {
			v.must("", back...)
		}
		all := v.tree()
		// A run that ended early has made these directories and put nothing into them, so the retry
		// takes them for the person's.
		if v.run.killed || v.run.code != 0 {
			delete(all, "home/.local/")
			delete(all, "home/.local/state/")
		}
		v.equal("after the uninstall", all, v.person)
		if err := v.restoreRun(after); err != nil {
			v.wrong("%v", err)
		}
	}
	if v.run.killed || v.fault.n%2 == 1 {
		v.must("", "c2cd", "uninstall", again[2])
		v.equal("uninstalled without a retry", v.tree(), v.person)
	}
}

// restoreRun restores the state that the fault has left.
func (v *verdict) restoreRun(after files) error {
	tree, err := v.read("")
	if err != nil {
		return err
	}
	maps.DeleteFunc(tree, func(name string, _ file) bool {
		return strings.HasPrefix(name, "home/") || strings.HasPrefix(name, "project/")
	})
	maps.Copy(tree, after)
	return v.restore(tree)
}

// home returns the files from before the command that the command may edit.
func (v *verdict) home() files {
	all := maps.Clone(v.before)
	maps.DeleteFunc(all, func(name string, _ file) bool {
		return !strings.HasPrefix(name, "home/") && !strings.HasPrefix(name, "project/")
	})
	return all
}

func (v *verdict) tree() files {
	tree, err := v.read("home", "project")
	if err != nil {
		v.wrong("%v", err)
	}
	return tree
}

// equal compares two trees and reports every difference.
func (v *verdict) equal(what string, got, want files) {
	for name, f := range want {
		if now, there := got[name]; !there {
			v.wrong("%s: %s is missing", what, name)
		} else if now != f {
			v.wrong("%s: %s is %v %q, want %v %q", what, name, now.mode, now.data, f.mode, f.data)
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			v.wrong("%s: %s should not exist", what, name)
		}
	}
}
