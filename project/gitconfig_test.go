package project

import "testing"

func TestParseGitConfig(t *testing.T) {
	for _, tt := range []struct {
		name, text, url string
		ok              bool
	}{
		{"plain", "[remote \"origin\"]\nurl = u\n", "u", true},
		{"last wins", "[remote \"origin\"]\nurl = u\nurl = v\n", "v", true},
		{"other remote", "[remote \"Origin\"]\nurl = u\n", "", true},
		{"case of keys", "[REMOTE \"origin\"]\nURL=u\n", "u", true},
		{"two blanks", "[remote  \"origin\"]\n\turl\t=\tu v \r\n", "u v", true},
		{"work tree elsewhere", "[core]\nworktree = ../x\n", "", false},
		{"submodule", "[core]\nworktree = ../x\n[remote \"origin\"]\nurl = u\n", "u", true},
		{"quoted", "[remote \"origin\"]\nurl = \"a\"\n", "\"a\"", false},
		{"comment", "[remote \"origin\"]\nurl = a ; mine\n", "a ; mine", false},
		{"one line", "[remote \"origin\"] url = a\n", "", false},
		{"old syntax", "[remote.origin]\nurl = a\n", "", false},
		{"escape", "[remote \"origin\"]\nurl = a\\\\b\n", "a\\\\b", false},
		{"continuation", "[remote \"x\"]\nfetch = a\\\n[remote \"origin\"]\nurl = a\n", "", false},
		{"include", "[include]\npath = x\n", "", false},
		{"conditional include", "[includeIf \"gitdir:x\"]\npath = x\n", "", false},
	} {
		url, ok := parseGitConfig(tt.text)
		if url != tt.url || ok != tt.ok {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, url, ok, tt.url, tt.ok)
		}
	}
}

func FuzzParseGitConfig(f *testing.F) {
	f.Add("[remote \"origin\"]\n\turl = \"x\\\"\n")
	f.Add("[include]")
	f.Add("[")
	f.Fuzz(func(t *testing.T, text string) { parseGitConfig(text) })
}
