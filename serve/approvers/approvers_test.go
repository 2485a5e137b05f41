package approvers

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
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
		p.update()
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
