package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"c2c/broker"
	"c2c/project"
)

// state is a state directory with clones of repositories beside it.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) machine {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return machine{t, dir}
}

func (m machine) getenv(name string) string { return env("HOME", m.dir)(name) }

// clone makes a repository whose remote has a URL; "" is none.
func (m machine) clone(name, url string) string {
	m.t.Helper()
	top := filepath.Join(m.dir, name)
	config := "[core]\n\tbare = false\n"
	if url != "" {
		config += "[remote \"origin\"]\n\turl = " + url + "\n"
	}
	write(m.t, filepath.Join(top, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(m.t, filepath.Join(top, ".git", "config"), config)
	return top
}

// workTree links a work tree to a repository, as git does.
func (m machine) workTree(top, name string) string {
	m.t.Helper()
	gitdir := filepath.Join(top, ".git", "worktrees", name)
	write(m.t, filepath.Join(gitdir, "HEAD"), "ref: refs/heads/x\n")
	write(m.t, filepath.Join(gitdir, "commondir"), "../..\n")
	linked := filepath.Join(m.dir, name)
	write(m.t, filepath.Join(linked, ".git"), "gitdir: "+gitdir+"\n")
	write(m.t, filepath.Join(gitdir, "gitdir"), filepath.Join(linked, ".git")+"\n")
	return linked
}

// old is a root that the OCaml c2c, or an older version of ours, has made for a URL or a top level.
func (m machine) old(text string) string {
	m.t.Helper()
	root := filepath.Join(m.dir, ".c2c", "repos", fp(text), "broker")
	if err := os.MkdirAll(root, 0o700); err != nil {
		m.t.Fatal(err)
	}
	return root
}

// open uses the root of a directory, as any command does, and says which one that is.
func (m machine) open(cwd string) string {
	m.t.Helper()
	b, err := broker.OpenHere(m.getenv, cwd, broker.Config{})
	if err != nil {
		m.t.Fatal(err)
	}
	defer b.Close()
	if found, err := broker.RootHere(m.getenv, cwd); err != nil || found != b.Root() {
		m.t.Errorf("opened %s, and then found %s, %v", b.Root(), found, err)
	}
	return b.Root()
}

// same fails unless all directories have one root, which it gives.
func (m machine) same(dirs ...string) string {
	m.t.Helper()
	root := m.open(dirs[0])
	for _, dir := range dirs[1:] {
		if got := m.open(dir); got != root {
			m.t.Errorf("%s has root %s, and %s has %s", dirs[0], root, dir, got)
		}
	}
	return root
}

func TestClonesOfOneRemoteShareARoot(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	ssh, web := m.clone("ssh", "git@host.org:o/r.git"), m.clone("web", "https://Host.org/o/r")
	m.same(ssh, web, m.workTree(web, "feature"), m.clone("third", "ssh://alice@host.org:22/o/r.git/"))
	if other := m.open(m.clone("fork", "git@host.org:alice/r.git")); other == m.open(ssh) {
		t.Error("a fork shares the root")
	}
}

func TestWorkTreesWithoutARemoteShareARoot(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"main", "linked"} {
		m := newMachine(t)
		top := m.clone("repo", "")
		linked, other := m.workTree(top, "linked"), m.workTree(top, "other")
		if first == "main" {
			m.same(top, linked, other)
		} else {
			m.same(linked, top, other)
		}
		if err := os.Symlink(top, filepath.Join(m.dir, "link")); err != nil {
			t.Fatal(err)
		}
		m.same(top, m.workTree(filepath.Join(m.dir, "link"), "by-link"))
		if m.open(m.clone("another", "")) == m.open(top) {
			t.Error("another repository shares the root")
		}
	}
}

func TestLocalRemotesStayApart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	seen := map[string]string{}
	for name, url := range map[string]string{"path": "/srv/r.git", "bare": "/srv/r", "file": "file:///srv/r.git", "web": "https://srv/r.git"} {
		root := m.open(m.clone(name, url))
		if seen[root] != "" {
			t.Errorf("%s and %s share a root", name, seen[root])
		}
		seen[root] = name
		if want := m.old(url); root != want {
			t.Errorf("the root of %s is %s, and the OCaml c2c's is %s", url, root, want)
		}
	}
}

// A root that is there is used by the clone that it was made for, and by those that come later.
func TestARootThatIsThereIsUsed(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"ssh", "web"} {
		m := newMachine(t)
		clones := map[string]string{"ssh": m.clone("ssh", "git@host.org:o/r.git"), "web": m.clone("web", "https://host.org/o/r")}
		want := m.old("git@host.org:o/r.git")
		if got := m.open(clones[first]); got != want {
			t.Errorf("%s is first, and has %s instead of %s", first, got, want)
		}
		m.same(clones["ssh"], clones["web"])
	}
}

// The OCaml c2c, started in a clone later, comes to the root of the others: what it would make is
// there, as a link.
func TestTheOriginalMeetsTheOthers(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	web := m.clone("web", "https://host.org/o/r")
	root := m.same(m.clone("ssh", "git@host.org:o/r.git"), web)
	write(t, filepath.Join(m.old("https://host.org/o/r"), "registry.json"), "[]\n")
	if _, err := os.Stat(filepath.Join(root, "registry.json")); err != nil {
		t.Error("the OCaml c2c has a root of its own:", err)
	}
	if got := m.open(web); got != root {
		t.Errorf("its clone has gone to %s", got)
	}
}

// Two roots of older versions stay: each clone keeps its mail until somebody merges them. Whoever
// has none of their own goes to the one that was used first.
func TestOldRootsKeepWorking(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	ssh, odd := m.clone("ssh", "git@host.org:o/r.git"), m.clone("odd", "bob@host.org:o/r.git")
	wantSSH, wantOdd := m.old("git@host.org:o/r.git"), m.old("bob@host.org:o/r.git")
	for range 2 {
		if got := m.open(odd); got != wantOdd {
			t.Errorf("root %s, want %s", got, wantOdd)
		}
		if got := m.open(ssh); got != wantSSH {
			t.Errorf("root %s, want %s", got, wantSSH)
		}
	}
	web := m.clone("web", "https://host.org/o/r")
	if got := m.open(web); got != wantOdd {
		t.Errorf("a new clone has %s", got)
	}
	third := m.old("carol@host.org:o/r.git")
	if got := m.open(m.clone("carol", "carol@host.org:o/r.git")); got != third {
		t.Errorf("root %s, want %s", got, third)
	}
	if _, others, err := project.Roots(m.getenv, web); err != nil || !slices.Contains(others, wantSSH) || !slices.Contains(others, third) {
		t.Errorf("another clone knows of %q, %v", others, err)
	}
}

// Whoever looks when, all clones agree: also while the OCaml c2c makes its own directory.
func TestClonesThatStartTogetherShareARoot(t *testing.T) {
	t.Parallel()
	for range 20 {
		m := newMachine(t)
		dirs := []string{m.clone("ssh", "git@host.org:o/r.git"), m.clone("web", "https://host.org/o/r"), m.clone("git", "git://host.org/o/r"), m.clone("user", "bob@host.org:o/r")}
		roots := make([]string, 4*len(dirs))
		var all sync.WaitGroup
		for i := range roots {
			all.Go(func() {
				b, err := broker.OpenHere(m.getenv, dirs[i%len(dirs)], broker.Config{})
				if err != nil {
					t.Error(err)
					return
				}
				defer b.Close()
				roots[i] = b.Root()
			})
		}
		all.Wait()
		for _, root := range roots {
			if root != roots[0] {
				t.Fatalf("two roots: %q", roots)
			}
		}
	}
}

// A repository without a remote is not the one whose work tree was at its path before.
func TestARepositoryWhereAWorkTreeWasHasItsOwnRoot(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	top := m.clone("repo", "")
	linked := m.workTree(top, "linked")
	old := m.same(top, linked)
	if err := os.RemoveAll(linked); err != nil {
		t.Fatal(err)
	}
	m.clone("linked", "")
	if got := m.same(linked, m.workTree(linked, "another")); got == old {
		t.Error("it has the mail of the other one")
	}
}

func TestLooksMakeNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if _, err := broker.RootHere(m.getenv, m.clone("ssh", "git@host.org:o/r.git")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(m.dir, ".c2c")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the state directory was made", err)
	}
}

// A root was merged into another one, and that one later into a third.
// project is the name of the only project that was opened.
func (m machine) project() string {
	m.t.Helper()
	names, err := os.ReadDir(filepath.Join(m.dir, ".c2c", "projects"))
	if err != nil || len(names) != 1 {
		m.t.Fatalf("projects %v, %v", names, err)
	}
	return names[0].Name()
}

func TestRootsThatWereMergedLeadToTheLast(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	top := m.clone("ssh", "git@host.org:o/r.git")
	own, last := fp("git@host.org:o/r.git"), m.old("c")
	repos := filepath.Join(m.dir, ".c2c", "repos")
	link := func(target, name string) {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	link(fp("c"), filepath.Join(repos, fp("b")))
	link(fp("b"), filepath.Join(repos, fp("a")))
	link(fp("a"), filepath.Join(repos, own))
	if got := m.open(top); got != last {
		t.Errorf("by the link of the clone: %s, want %s", got, last)
	}
	recorded := filepath.Join(m.dir, ".c2c", "projects", m.project())
	if err := errors.Join(os.Remove(filepath.Join(repos, own)), os.Remove(recorded)); err != nil {
		t.Fatal(err)
	}
	link("../repos/"+fp("a"), recorded)
	if got := m.open(top); got != last {
		t.Errorf("by the link of the project: %s, want %s", got, last)
	}
}

// What somebody has put in the place of a link leads nowhere else, and is no endless loop.
func TestAnOddLinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	top := m.clone("ssh", "git@host.org:o/r.git")
	m.open(top)
	own, name := fp("git@host.org:o/r.git"), m.project()
	elsewhere, projects := filepath.Join(m.dir, "elsewhere"), filepath.Join(m.dir, ".c2c", "projects")
	for _, target := range []string{elsewhere, "../../elsewhere", "../repos/../../elsewhere", "..", name, "../repos/default"} {
		if err := errors.Join(os.RemoveAll(filepath.Join(m.dir, ".c2c")), os.MkdirAll(projects, 0o700), os.Symlink(target, filepath.Join(projects, name))); err != nil {
			t.Fatal(err)
		}
		if got, want := m.open(top), m.old("git@host.org:o/r.git"); got != want {
			t.Errorf("a link to %q: root %s", target, got)
		}
	}
	repos := filepath.Join(m.dir, ".c2c", "repos")
	a, b := fp("a"), fp("b")
	if err := errors.Join(os.RemoveAll(filepath.Join(repos, own)), os.Remove(filepath.Join(projects, name)),
		os.Symlink("../repos/"+a, filepath.Join(projects, name)), os.Symlink(b, filepath.Join(repos, a)), os.Symlink(a, filepath.Join(repos, b))); err != nil {
		t.Fatal(err)
	}
	if b, err := broker.OpenHere(m.getenv, top, broker.Config{}); err == nil {
		t.Error("a ring of links is a root:", b.Root())
	}
}
