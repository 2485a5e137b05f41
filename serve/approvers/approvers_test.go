package approvers

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/permission"
	"c2c/senders"
)

func TestSomebodyIsThereWhileASenderMayDecide(t *testing.T) {
	home := t.TempDir()
	files, err := atomicfile.Create(filepath.Join(home, "http"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	root := filepath.Join(home, "root")
	present := func() bool {
		dir, err := atomicfile.Open(root)
		if err != nil {
			return false
		}
		defer dir.Close()
		return permission.Open(dir, time.Now).Present()
	}
	list := senders.Open(files, time.Now)
	allow := func(s senders.Sender) {
		t.Helper()
		if _, err := list.Allow(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	p := newApprovers(senders.Open(files, time.Now), slog.New(slog.DiscardHandler))
	step := func(what string, want bool) {
		t.Helper()
		p.update(t.Context())
		if got := present(); got != want {
			t.Errorf("%s: somebody is there: %v", what, got)
		}
	}
	allow(senders.Sender{Name: "ci", Root: root, To: []string{"amber"}})
	allow(senders.Sender{Name: "phone", Root: root, To: []string{"amber"}, Verdicts: true})
	step("the root is not there", false)
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Fatalf("it was made: %v", err)
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	step("a sender may decide", true)
	step("it still may", true)
	if err := os.Rename(root, root+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	step("the root was made anew", true)
	if err := list.Deny(t.Context(), "phone"); err != nil {
		t.Fatal(err)
	}
	step("it was denied", false)
	allow(senders.Sender{Name: "phone", Root: root, To: []string{"amber"}, Verdicts: true})
	step("it was allowed again", true)
	if err := os.WriteFile(files.Path()+"/senders.json", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	step("the list is damaged", false)
	if len(p.held) != 0 {
		t.Errorf("%d roots are held", len(p.held))
	}
}

// The disk of the root "dead" does not answer.
func TestARootThatHangsKeepsNoOtherFromItsApprover(t *testing.T) {
	home := t.TempDir()
	files, err := atomicfile.Create(filepath.Join(home, "http"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	dead, well := filepath.Join(home, "dead"), filepath.Join(home, "well")
	for _, root := range []string{dead, well} {
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	list := senders.Open(files, time.Now)
	if _, err := list.Allow(t.Context(), senders.Sender{Name: "phone", Root: well, To: []string{"amber"}, Verdicts: true}); err != nil {
		t.Fatal(err)
	}
	dir, err := atomicfile.Open(well)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	held, err := atomicfile.Open(dead)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p, goOn := newApprovers(list, slog.New(slog.DiscardHandler)), make(chan struct{})
		p.held[dead] = attending{held, func() error { <-goOn; return nil }}
		p.update(t.Context())
		if _, left := p.held[dead]; !left || !permission.Open(dir, time.Now).Present() {
			t.Error("nobody is there in the other root")
		}
		close(goOn)
		p.update(t.Context())
		if _, left := p.held[dead]; left {
			t.Error("the root is not left, although its disk answers")
		}
		p.set(t.Context(), nil)
	})
}

// The disk of a root does not answer while the root is left. Meanwhile a sender gets the right to decide there again.
func TestARootThatHangsWhileItIsLeftIsAttendedAgain(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := atomicfile.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	held, err := atomicfile.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p, goOn := newApprovers(nil, slog.New(slog.DiscardHandler)), make(chan struct{})
		p.held[root] = attending{held, func() error { <-goOn; return nil }}
		brief, end := context.WithTimeout(t.Context(), patience)
		defer end()
		p.set(brief, nil)
		p.set(brief, map[string]bool{root: true})
		close(goOn)
		synctest.Wait()
		if !permission.Open(dir, time.Now).Present() {
			t.Error("nobody is there")
		}
		p.set(t.Context(), nil)
	})
}
