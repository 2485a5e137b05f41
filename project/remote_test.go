package project

import (
	"strings"
	"testing"
)

func TestSpellingsOfARemoteHaveOneName(t *testing.T) {
	for want, urls := range map[string][]string{
		"host.org/o/r": {
			"git@host.org:o/r.git", "git@host.org:o/r", "host.org:o/r", "alice@HOST.org:/o/r.git/", "git@host.org:o/r/",
			"https://host.org/o/r", "https://host.org/o/r.git", "https://host.org/o/r.git/", "https://host.org:443/o/r", "HTTPS://Host.Org/o/r",
			"https://alice:secret@host.org/o/r.git", "https://a@b.org@host.org/o/r", "http://host.org:80/o/r", "https://host.org:/o/r",
			"ssh://git@host.org/o/r.git", "ssh://host.org:22/o/r", "git+ssh://git@host.org/o/r", "ssh+git://host.org/o/r", "git://host.org:9418/o/r",
		},
		"host.org:2222/o/r": {"ssh://git@host.org:2222/o/r.git", "https://host.org:2222/o/r"},
		"host.org/O/r":      {"git@host.org:O/r.git"}, // a path may have case
		"host/~alice/r":     {"ssh://alice@host/~/r", "ssh://bob@host/~alice/r.git", "alice@host:~/r"},
	} {
		for _, url := range urls {
			if name, ok := remoteName(url); name != want || !ok {
				t.Errorf("%s: %q, %v; want %q", url, name, ok, want)
			}
		}
	}
}

func TestWhatIsOnThisMachineIsNoRemote(t *testing.T) {
	for _, url := range []string{
		"", "/srv/r.git", "../r.git", "r.git", "./host:o/r", "a/b:c", "file:///srv/r.git", "FILE://host/srv/r", "ext::ssh host %S /r", "codecommit::eu://r", "ext::x/r",
		"unknown://host/o/r", "https://", "https:///o/r", "https://host", "https://host/", "https://host/.git", "host:", ":path", "git@:o/r", "-oProxyCommand=x:o/r",
		"ssh://-oProxyCommand=x/r", "git@host:o/\nr", "git@host:o/\x00", "git@host:o/r\x7f", "https://ho]st/r", "https://a:b:1/r", "https://host:abc/r", "h\xa1:o/r", "ssh://\u212aernel.org/o/r", "[::1", "[::1]", "ssh://[::1]/o/r", "ssh://git@[::1]:22/o/r", "git@[::1]:o/r", "[::1]:o/r", "git@[host.org:22]:o/r.git", "https://host/" + strings.Repeat("x", maxURL),
	} {
		if name, ok := remoteName(url); ok {
			t.Errorf("%q is called %q", url, name)
		}
	}
}

// What a name's usual spellings are called is that name again: so they meet.
func FuzzRemoteName(f *testing.F) {
	for _, seed := range []string{"git@host:o/r.git", "https://u:p@Host:443//o//r.git//", "ssh://a@h/~/r", "[h:1]:p", "a@[::1]:p", "::", "h:.git/.git", "http://h/://p"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		name, ok := remoteName(url)
		if !ok {
			return
		}
		host, path, _ := strings.Cut(name, "/")
		if host == "" || path == "" || strings.ContainsAny(name, "\x00\n ") {
			t.Fatalf("%q is called %q", url, name)
		}
		for _, other := range spellings(name) {
			again, ok := remoteName(other)
			if !strings.HasPrefix(other, "git@") && len(other) <= maxURL && (again != name || !ok) {
				t.Fatalf("%q is called %q, and its spelling %q %q, %v", url, name, other, again, ok)
			}
		}
	})
}
