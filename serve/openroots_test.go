package serve

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"c2c/broker"
	"c2c/sessions/callers"
	"c2c/sessions/permission"
)

// roots makes some, and opens them.
type roots struct {
	dir    string
	opened int
}

func (r *roots) path(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r *roots) open(root string) (*broker.Broker, error) {
	r.opened++
	return broker.Open(broker.Config{Root: root})
}

func TestARootIsOpenWhileItIsNeededAndSomeTimeLonger(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	a := r.path(t, "a")
	synctest.Test(t, func(t *testing.T) {
		p := newOpenRoots(r.open, time.Minute, slog.New(slog.DiscardHandler))
		first, done, err := p.use(a)
		if err != nil {
			t.Fatal(err)
		}
		second, alsoDone, err := p.use(a + "/")
		if err != nil || first != second || r.opened != 1 {
			t.Fatalf("opened %d times, %v", r.opened, err)
		}
		done()
		done() // says nothing more
		time.Sleep(time.Hour)
		if len(p.paths()) != 1 {
			t.Error("it was closed while somebody needed it")
		}
		alsoDone()
		time.Sleep(59 * time.Second)
		_, done, err = p.use(a)
		if err != nil || r.opened != 1 {
			t.Errorf("opened %d times, %v", r.opened, err)
		}
		done()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if len(p.paths()) != 1 {
			t.Error("it was closed too early: it was needed meanwhile")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(p.paths()) != 0 {
			t.Error("it stays open")
		}
		if _, err := first.Broker.Dir().Names(); err == nil {
			t.Error("its directory is still open")
		}
		p.end()
	})
}

func TestARootThatIsNotThereIsNotMade(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	p := newOpenRoots(r.open, time.Hour, slog.New(slog.DiscardHandler))
	for _, root := range []string{filepath.Join(r.dir, "none"), "relative", ""} {
		if _, _, err := p.use(root); err == nil {
			t.Errorf("%q is open", root)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Who writes to a root that was removed and made anew would lose it.
func TestARootThatWasMadeAnewIsOpenedAnew(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	p := newOpenRoots(r.open, time.Hour, slog.New(slog.DiscardHandler))
	a := r.path(t, "a")
	old, done, err := p.use(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(a); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.use(a); err == nil {
		t.Error("a root that is gone is open")
	}
	r.path(t, "a")
	fresh, freshDone, err := p.use(a)
	if err != nil || fresh == old || fresh.Broker.Replaced() {
		t.Fatalf("the old one: %v", err)
	}
	done()
	if err := old.Broker.Dir().Sync(); err == nil {
		t.Error("the old one is open although nobody needs it")
	}
	if err := fresh.Broker.Dir().Sync(); err != nil {
		t.Error(err)
	}
	freshDone()
	p.end()
}

// newProject makes a clone of something.
func newProject(t *testing.T, dir string) string {
	t.Helper()
	project := filepath.Join(dir, "project")
	git := filepath.Join(project, ".git")
	err := errors.Join(os.MkdirAll(git, 0o700), os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600),
		os.WriteFile(filepath.Join(git, "config"), []byte("[remote \"origin\"]\n\turl = https://example.com/a/b\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestTheRootIsTheOneThatARequestNames(t *testing.T) {
	f := newFace(t, Limits{})
	projectDir := newProject(t, f.home)
	file := filepath.Join(f.home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := f.s.cfg.Getenv
	named, err := broker.RootHere(getenv, projectDir)
	if err != nil {
		t.Fatal(err)
	}
	usual, err := broker.RootHere(getenv, f.home)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		header []string
		root   string
		by     string
	}{
		{[]string{projectDir}, named, ByHeader},
		{[]string{projectDir + "/.git/.."}, named, ByHeader},
		{nil, usual, ByDirectory},
		{[]string{""}, usual, ByDirectory},
		{[]string{"${workspaceFolder}"}, usual, ByDirectory},
		{[]string{"relative"}, "", ""},
		{[]string{filepath.Join(f.home, "none")}, "", ByHeader},
		{[]string{file}, "", ByHeader},
		{[]string{projectDir, projectDir}, "", ""},
	} {
		r, err := http.NewRequest("POST", "http://localhost/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header[http.CanonicalHeaderKey(ProjectHeader)] = c.header
		root, by, err := f.s.RootFor(r)
		if root != c.root || by != c.by || (err != nil) != (c.root == "") || err != nil && !errors.Is(err, ErrProject) {
			t.Errorf("%q: %q by %q, %v; want %q by %q", c.header, root, by, err, c.root, c.by)
		}
		if err == nil {
			open, done, err := f.s.OpenRoot(root)
			if err != nil || open.Broker.Root() != root {
				t.Errorf("%q: %v", c.header, err)
				continue
			}
			done()
		}
	}
}

func TestAVerdictInAPlaceIsInItsLog(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	p := newOpenRoots(r.open, time.Minute, slog.New(slog.DiscardHandler))
	defer func() { p.end() }()
	a := r.path(t, "a")
	open, done, err := p.use(a)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := open.Permission.Decide(t.Context(), "abcde", permission.Verdict{By: "ci", Via: "webhook"}); !errors.Is(err, permission.ErrUnknown) {
		t.Error(err)
	}
	log, err := os.ReadFile(filepath.Join(a, "broker.log"))
	if want := `"event":"permission","id":"abcde","verdict":"deny","by":"ci","via":"webhook","result":"refused: unknown"}`; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("logged %q, %v", log, err)
	}
}

// A request opens a root that was removed and made again meanwhile.
func TestARootThatWasRemovedWhileItWasOpenedIsOpenedAgain(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	root := r.path(t, "root")
	p := newOpenRoots(func(root string) (*broker.Broker, error) {
		b, err := r.open(root)
		if r.opened == 1 {
			err = errors.Join(err, os.Rename(root, root+".old"), os.Mkdir(root, 0o700))
		}
		return b, err
	}, time.Minute, slog.New(slog.DiscardHandler))
	open, done, err := p.use(root)
	if err != nil {
		t.Fatal(err)
	}
	if open.Broker.Replaced() {
		t.Error("it gets the removed root")
	}
	done()
	p.end()
}

func TestTheServerEndsAlthoughARootHangs(t *testing.T) {
	f := newFace(t, Limits{Grace: time.Millisecond})
	goOn, hung := make(chan struct{}), make(chan struct{})
	f.s.roots.whileOpen = func(context.Context, *broker.Broker) { close(hung); <-goOn }
	_, done, err := f.s.OpenRoot(newProject(t, f.home))
	if err != nil {
		t.Fatal(err)
	}
	<-hung
	done()
	if err := f.stop(); err == nil || !strings.Contains(err.Error(), "the work in a project") {
		t.Errorf("the end of the server: %v", err)
	}
	close(goOn)
	f.s.roots.end()
}

// requestHere is a request of a client that runs in this directory and names none.
func requestHere(t *testing.T, ctx context.Context) *http.Request {
	t.Helper()
	client := &conn{process: os.Getpid()}
	client.processOnce.Do(func() {})
	if workingDirectory(os.Getpid()) == "" {
		t.Skip("this system does not tell the directory of a process")
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, connKey{}, client), "POST", "http://localhost/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The root of the client's project cannot be opened, perhaps because the disk is full.
func TestAProjectThatCannotBeOpenedIsNotReplacedByAnother(t *testing.T) {
	f := newFace(t, Limits{})
	t.Chdir(newProject(t, f.home))
	open := f.s.cfg.OpenHere
	f.s.cfg.OpenHere = func(here string) (*broker.Broker, error) {
		if here == workingDirectory(os.Getpid()) {
			return nil, syscall.ENOSPC
		}
		return open(here)
	}
	if root, by, err := f.s.RootFor(requestHere(t, t.Context())); !errors.Is(err, syscall.ENOSPC) || by != ByProcess {
		t.Errorf("%q by %s, %v", root, by, err)
	}
}

// A folder whose remote was changed keeps the root of its running session, also if the daemon has
// the other root open for another folder.
func TestAFolderHasOneRootWhicheverIsOpen(t *testing.T) {
	f := newFace(t, Limits{})
	folder, clone := newProject(t, f.home), newProject(t, filepath.Join(f.home, "other"))
	b, err := f.s.cfg.OpenHere(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Attach(t.Context(), callers.Caller{Client: "claude", ClientID: "u1", PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	const remote = "[remote \"origin\"]\n\turl = https://example.com/a/new\n"
	err = errors.Join(os.WriteFile(filepath.Join(folder, ".git", "config"), []byte(remote), 0o600), os.WriteFile(filepath.Join(clone, ".git", "config"), []byte(remote), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	f.s.cfg.Dir = folder
	t.Chdir(folder) // the session's process is this one
	if at, err := f.s.At(); err != nil || at.Root != b.Root() {
		t.Errorf("published: %s, %v; want %s", at.Root, err, b.Root())
	}
	for _, dir := range []string{folder, clone, folder} {
		r, err := http.NewRequest("POST", "http://localhost/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(ProjectHeader, dir)
		root, _, err := f.s.RootFor(r)
		if err != nil || (root == b.Root()) != (dir == folder) {
			t.Errorf("%s: %s, %v; its session runs in %s", dir, root, err, b.Root())
		}
	}
}
