package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"c2c/broker"
	"c2c/live"
	"c2c/serve/shared"
)

// useLater asks for a root, and tells later what came of it.
func (p *openRoots) useLater(ctx context.Context, root string) <-chan error {
	got := make(chan error, 1)
	go func() {
		_, done, err := p.use(ctx, root)
		if err == nil {
			done()
		}
		got <- err
	}()
	return got
}

// The disk of one root does not answer. Only the requests for this root wait, and each no longer than it wants to.
func TestARootThatDoesNotOpenHoldsUpOnlyItsOwnRequests(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	dead, well := r.path(t, "dead"), r.path(t, "well")
	synctest.Test(t, func(t *testing.T) {
		goOn, hanging := make(chan struct{}), atomic.Int32{}
		p := newOpenRoots(func(root string) (*broker.Broker, error) {
			if root == dead {
				hanging.Add(1)
				<-goOn
			}
			return r.open(root)
		}, 2, time.Minute, slog.New(slog.DiscardHandler))
		patient := p.useLater(t.Context(), dead)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for range 100 {
			go p.use(ctx, dead)
		}
		if err := <-p.useLater(ctx, dead); !errors.Is(err, context.DeadlineExceeded) || hanging.Load() != 1 {
			t.Errorf("%v; %d openings hang", err, hanging.Load())
		}
		if err := <-p.useLater(t.Context(), well); err != nil || p.size() != 1 || !p.has(well) {
			t.Errorf("the other root: %v; %q are open", err, p.paths(p.all))
		}
		close(goOn)
		if err := <-patient; err != nil || !p.has(dead) {
			t.Errorf("when the disk answers: %v", err)
		}
		p.end()()
	})
}

// The daemon has opened the root, and then its disk does not answer any more.
func TestAnOpenRootThatHangsHoldsUpOnlyItsOwnRequests(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	dead, well := r.path(t, "dead"), r.path(t, "well")
	synctest.Test(t, func(t *testing.T) {
		goOn, hangs := make(chan struct{}), atomic.Bool{}
		wait := func(b *broker.Broker) {
			if hangs.Load() && b.Root() == dead {
				<-goOn // a value for each that waits
			}
		}
		p := newOpenRoots(r.open, 2, time.Minute, slog.New(slog.DiscardHandler))
		p.replaced = func(b *broker.Broker) bool { wait(b); return b.Replaced() }
		p.whileOpen = func(ctx context.Context, b *broker.Broker) { <-ctx.Done(); wait(b) }
		for _, root := range []string{dead, well} {
			if err := <-p.useLater(t.Context(), root); err != nil {
				t.Fatal(err)
			}
		}
		hangs.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		impatient := p.useLater(ctx, dead)
		synctest.Wait()
		if err := <-p.useLater(t.Context(), well); err != nil {
			t.Errorf("the other root: %v", err)
		}
		cancel()
		if err := <-impatient; !errors.Is(err, context.Canceled) {
			t.Errorf("a request for the root: %v", err)
		}
		goOn <- struct{}{}
		time.Sleep(time.Hour) // both roots are closed meanwhile; that of the dead one hangs
		synctest.Wait()
		if p.size() != 0 {
			t.Errorf("%q are open", p.paths(p.all))
		}
		later := p.useLater(t.Context(), dead)
		if err := <-p.useLater(t.Context(), well); err != nil || r.opened != 3 {
			t.Errorf("the other root: %v; opened %d times", err, r.opened)
		}
		ended := p.end()
		if left := p.paths(p.closing); !slices.Contains(left, dead) {
			t.Errorf("at the end of the daemon, %q are not closed", left)
		}
		close(goOn)
		ended()
		if err := <-later; !errors.Is(err, errEnds) || len(p.paths(p.closing)) > 0 {
			t.Errorf("a request that came before the end: %v", err)
		}
	})
}

// A root is removed and made again, while the disk still answers what an earlier request has asked.
func TestNoRequestGetsARootThatWasRemovedBefore(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	root := r.path(t, "root")
	synctest.Test(t, func(t *testing.T) {
		goOn, slow := make(chan struct{}), atomic.Bool{}
		p := newOpenRoots(r.open, 2, time.Minute, slog.New(slog.DiscardHandler))
		p.replaced = func(b *broker.Broker) bool {
			was := b.Replaced()
			if slow.Load() {
				<-goOn
			}
			return was
		}
		if err := <-p.useLater(t.Context(), root); err != nil {
			t.Fatal(err)
		}
		slow.Store(true)
		earlier := p.useLater(t.Context(), root)
		synctest.Wait()
		if err := os.Rename(root, root+".old"); err != nil {
			t.Fatal(err)
		}
		r.path(t, "root")
		time.AfterFunc(time.Second, func() { close(goOn) })
		open, done, err := p.use(t.Context(), root)
		if err != nil || open.Broker.Replaced() {
			t.Errorf("it gets the removed root: %v", err)
		}
		done()
		if err := <-earlier; err != nil {
			t.Error(err)
		}
		p.end()()
	})
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
	}, 2, time.Minute, slog.New(slog.DiscardHandler))
	open, done, err := p.use(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if open.Broker.Replaced() {
		t.Error("it gets the removed root")
	}
	done()
	p.end()()
}

// A request names a directory on a disk that does not answer.
func TestADirectoryThatHangsHoldsUpOnlyItsOwnRequests(t *testing.T) {
	f := newFace(t, Limits{})
	dead, well := newProject(t, filepath.Join(f.home, "dead")), newProject(t, filepath.Join(f.home, "well"))
	goOn, began := make(chan struct{}), make(chan struct{}, 10)
	cfg := f.config(Limits{})
	open := cfg.OpenHere
	cfg.OpenHere = func(dir string) (*broker.Broker, error) {
		if dir == dead {
			began <- struct{}{}
			<-goOn
		}
		return open(dir)
	}
	s := New(cfg)
	rootFor := func(ctx context.Context, dir string) error {
		r, err := http.NewRequestWithContext(ctx, "POST", "http://localhost/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(ProjectHeader, dir)
		_, _, err = s.RootFor(r)
		return err
	}
	patient := make(chan error)
	go func() { patient <- rootFor(t.Context(), dead) }()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rootFor(ctx, dead); !errors.Is(err, context.Canceled) || len(began) > 0 {
		t.Errorf("%v; %d more openings", err, len(began))
	}
	if err := rootFor(t.Context(), well); err != nil {
		t.Errorf("the other directory: %v", err)
	}
	close(goOn)
	if err := <-patient; err != nil {
		t.Errorf("when the disk answers: %v", err)
	}
	s.roots.end()()
}

// The work for a root does not end, because its disk does not answer.
func TestTheServerEndsAlthoughARootHangs(t *testing.T) {
	f := newFace(t, Limits{Grace: time.Millisecond})
	goOn := make(chan struct{})
	hung := make(chan struct{})
	f.s.roots.follow = func(context.Context, *live.Hub) error { close(hung); <-goOn; return nil }
	root := newProject(t, f.home)
	_, done, err := f.s.OpenRoot(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	<-hung
	done()
	if err := f.stop(); err == nil || !strings.Contains(err.Error(), root) {
		t.Errorf("the end of the server: %v", err)
	}
	close(goOn)
	f.s.roots.end()()
}

// requestHere is a request of a client that runs in this directory and names none.
func requestHere(t *testing.T, ctx context.Context) *http.Request {
	t.Helper()
	client := &conn{process: Process{PID: os.Getpid()}}
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

// Mail in the wrong project is worse than no mail.
func TestWhileTooManyDisksHangNoRequestGetsAnotherProject(t *testing.T) {
	f := newFace(t, Limits{OpenRoots: 1})
	t.Chdir(newProject(t, f.home))
	goOn, hangs := make(chan struct{}), make(chan struct{})
	go f.s.roots.looks.Do(t.Context(), "dead", func() (string, error) { close(hangs); <-goOn; return "", nil })
	<-hangs
	if root, by, err := f.s.RootFor(requestHere(t, t.Context())); !errors.Is(err, shared.ErrBusy) || by != ByProcess {
		t.Errorf("%q by %s, %v", root, by, err)
	}
	close(goOn)
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

// The same holds for a client that hangs up while c2c waits for the disk.
func TestAClientThatHangsUpGetsNoOtherProject(t *testing.T) {
	f := newFace(t, Limits{})
	t.Chdir(newProject(t, f.home))
	goOn, hangs := make(chan struct{}), make(chan struct{})
	go f.s.roots.looks.Do(t.Context(), ByProcess+" "+workingDirectory(os.Getpid()), func() (string, error) { close(hangs); <-goOn; return "", nil })
	<-hangs
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	if root, by, err := f.s.RootFor(requestHere(t, ctx)); !errors.Is(err, context.Canceled) || by != ByProcess {
		t.Errorf("%q by %s, %v", root, by, err)
	}
	close(goOn)
}
