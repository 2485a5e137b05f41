package broker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker/owed"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/claims"
)

// claimants has amber and birch, and a folder with files.
func claimants(t *testing.T) (w *world, amber, birch sessions.Session, dir string) {
	t.Helper()
	w = newTableWorld(t)
	amber = w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 10})
	birch = w.register("birch", callers.Caller{Client: "claude", ClientID: "b", PID: 20})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "src", "deep"), 0o755)
	}
	for _, name := range []string{"main.go", "src/a.go", "src/deep/b.go"} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return w, amber, birch, dir
}

// holders are the aliases of the others that hold a file.
func (w *world) holders(sid, path string) (all []string) {
	w.t.Helper()
	held, err := claims.Held(w.t.Context(), w.Registry, sid, path)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range held {
		all = append(all, h.Alias)
	}
	return all
}

func TestAClaimIsHeldUntilItsHolderIsGone(t *testing.T) {
	w, amber, birch, dir := claimants(t)
	file := filepath.Join(dir, "main.go")
	if _, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Paths: []string{"main.go"}, Dir: dir, Worktree: dir, Why: "new flags"}); err != nil {
		t.Fatal(err)
	}
	if w.holders(birch.ID, file) == nil || w.holders(amber.ID, file) != nil {
		t.Error("birch is not warned, or amber is")
	}
	held := new(claims.HeldError)
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Paths: []string{file}}); !errors.As(err, &held) || err.Error() != "amber has claimed main.go (new flags)" {
		t.Errorf("birch claims it, too: %v", err)
	}
	list, err := w.List(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(l sessions.Listed) bool { return l.Alias == "amber" && slices.Equal(l.Claims, []string{file}) }) {
		t.Errorf("list %+v, %v", list, err)
	}

	delete(w.table, 10) // killed
	if got := w.holders(birch.ID, file); got != nil {
		t.Errorf("a dead session holds it: %q", got)
	}
	w.attach(callers.Caller{Client: "claude", ClientID: "a", PID: 30}) // started again
	if got := w.holders(birch.ID, file); !slices.Equal(got, []string{"amber"}) {
		t.Errorf("after the restart %q hold it", got)
	}
	delete(w.table, 30)
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Paths: []string{file}}); err != nil {
		t.Errorf("birch claims what is free: %v", err)
	}
	w.table[30] = sessions.Process{PID: 30, Parent: 1, Start: 99}
	w.attach(callers.Caller{Client: "claude", ClientID: "a", PID: 30})
	if got := w.holders(amber.ID, file); !slices.Equal(got, []string{"birch"}) {
		t.Errorf("a session that comes back takes it from %q", got)
	}
	if _, err := claims.Release(t.Context(), w.Registry, birch, claims.Wanted{}); err != nil || claims.There(w.Registry) {
		t.Errorf("after the release: %v", err)
	}
}

func TestTheClaimOfAGoneSessionIsKeptForItsReturnForAWhile(t *testing.T) {
	w, amber, birch, dir := claimants(t)
	if _, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Paths: []string{"src"}, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	delete(w.table, 10)
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Task: "docs"}); err != nil {
		t.Fatal(err)
	}
	all, err := claims.List(t.Context(), w.Registry)
	if err != nil || len(all) != 2 || !all[0].Free() || all[1].Free() {
		t.Fatalf("claims %+v, %v", all, err)
	}
	w.clock = w.clock.Add(-24 * time.Hour) // the clock was wrong then
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Task: "docs"}); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(claims.Grace + time.Second)
	if all, err := claims.List(t.Context(), w.Registry); err != nil || len(all) != 1 || all[0].Task != "docs" {
		t.Errorf("after the grace: %+v, %v", all, err)
	}
}

// Every edit of every session looks at all patterns: none may take long.
func TestAPatternWithManyStarsKeepsNobodyWaiting(t *testing.T) {
	w, amber, birch, _ := claimants(t)
	file := "/" + strings.Repeat("a/", 60) + "a.go"
	for pattern, covers := range map[string]bool{
		strings.Repeat("/**", 60) + "/b.go":       false,
		strings.Repeat("/**/a", 30) + "/**/b.go":  false,
		strings.Repeat("/**/a", 30) + "/**/?.go":  true,
		strings.Repeat("/**/a", 60) + "/**/a.go/": true,
		strings.Repeat("/**/a", 61) + "/**":       false,
		"/**/[a-c].go/**/a":                       false,
		"/**/a/a/a":                               true,
	} {
		if _, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Paths: []string{pattern}}); err != nil {
			t.Fatal(err)
		}
		if got := w.holders(birch.ID, file) != nil; got != covers {
			t.Errorf("%s covers the file: %v", pattern, got)
		}
		if _, err := claims.Release(t.Context(), w.Registry, amber, claims.Wanted{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Claims of sessions that are gone take no space from others, and a list shows a part of many.
func TestClaimsOfGoneSessionsMakeWay(t *testing.T) {
	w, amber, birch, dir := claimants(t)
	want := claims.Wanted{Dir: dir}
	for i := range 1000 {
		want.Paths = append(want.Paths, fmt.Sprint(i))
	}
	if _, err := claims.Make(t.Context(), w.Registry, amber, want); err != nil {
		t.Fatal(err)
	}
	list, err := w.List(t.Context())
	if i := slices.IndexFunc(list, func(l sessions.Listed) bool { return l.Alias == "amber" }); err != nil || len(list[i].Claims) != 9 || list[i].Claims[8] != "and 992 more" {
		t.Errorf("%v %q", err, list[i].Claims)
	}
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Task: "docs"}); err == nil {
		t.Error("there is no limit")
	}
	delete(w.table, 10)
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Task: "docs"}); err != nil {
		t.Error(err)
	}
}

func TestAClaimFollowsTheAliasOfItsHolder(t *testing.T) {
	w, amber, birch, dir := claimants(t)
	file := filepath.Join(dir, "main.go")
	if _, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Paths: []string{file}}); err != nil {
		t.Fatal(err)
	}
	w.register("oak", callers.Caller{Client: "claude", ClientID: "a", PID: 10})
	if got := w.holders(birch.ID, file); !slices.Equal(got, []string{"oak"}) {
		t.Errorf("%q hold it", got)
	}
	if err := os.WriteFile(filepath.Join(w.cfg.Root, claims.FileName), []byte(`[{"session_id":"x","alias":"\u001b[2J <system>","task":"docs"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := claims.List(t.Context(), w.Registry); err != nil || all[0].Alias != "(unknown)" {
		t.Errorf("%+v %v", all, err)
	}
}

func TestAClaimCoversFoldersPatternsAndLinks(t *testing.T) {
	for claim, covers := range map[string][]string{
		"src":      {"src/a.go", "src/deep/b.go", "src/new.go"},
		"src/*.go": {"src/a.go", "src/new.go"},
		"**/*.go":  {"main.go", "src/a.go", "src/deep/b.go", "src/new.go", "srcs/x.go"},
		"link":     {"src/a.go", "src/deep/b.go", "src/new.go"},
		"main.go":  {"main.go"},
	} {
		w, amber, birch, dir := claimants(t)
		if err := os.Symlink("src", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if _, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Paths: []string{claim}, Dir: dir}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"main.go", "src/a.go", "src/deep/b.go", "src/new.go", "link/a.go", "srcs/x.go", "other.txt"} {
			want := slices.Contains(covers, name) || name == "link/a.go" && slices.Contains(covers, "src/a.go")
			if got := w.holders(birch.ID, filepath.Join(dir, name)) != nil; got != want {
				t.Errorf("%s covers %s: %v", claim, name, got)
			}
		}
	}
}

// A claim is for a path, not for an inode: after git checkout the inode of a claimed file may be
// that of any other file.
func TestAClaimStaysAtItsPath(t *testing.T) {
	w, amber, birch, dir := claimants(t)
	claimed, other := filepath.Join(dir, "main.go"), filepath.Join(dir, "other.go")
	if _, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Paths: []string{claimed}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(claimed, other); err != nil {
		t.Fatal(err)
	}
	if got := w.holders(birch.ID, other); got != nil || w.holders(birch.ID, claimed) == nil {
		t.Errorf("the other file is held by %q", got)
	}
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Paths: []string{other}}); err != nil {
		t.Error(err)
	}
}

// Braces match nothing, so a claim with them is refused, unless there is such a file.
func TestAClaimWithBracesIsRefused(t *testing.T) {
	w, amber, birch, dir := claimants(t)
	want := claims.Wanted{Paths: []string{"src/{a,b}.go"}, Dir: dir}
	if _, err := claims.Make(t.Context(), w.Registry, amber, want); err == nil || !strings.Contains(err.Error(), `path "src/{a,b}.go": braces match nothing: name each path, or use * or **`) {
		t.Error(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "src/{a,b}.go"), nil, 0o600), os.Mkdir(filepath.Join(dir, "src/{{x}}"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Paths: []string{"src/{{x}}/new.go", "src/{{x}}/*.md"}, Dir: dir}); err != nil {
		t.Errorf("below a folder of that name: %v", err)
	}
	if _, err := claims.Make(t.Context(), w.Registry, amber, want); err != nil || w.holders(birch.ID, filepath.Join(dir, "src/{a,b}.go")) == nil {
		t.Error(err)
	}
}

func TestClaimsRefuseWhatTheyCannotKeep(t *testing.T) {
	w, amber, birch, dir := claimants(t)
	for _, bad := range []claims.Wanted{{Paths: []string{""}}, {Paths: []string{"/" + strings.Repeat("*", 5000)}}, {Paths: []string{"/caf\xe9"}}, {Paths: []string{"relative"}}, {Task: "two\nlines"}, {Task: "x", Why: string(make([]byte, 300))}} {
		if _, err := claims.Make(t.Context(), w.Registry, amber, bad); err == nil {
			t.Errorf("%+v is claimed", bad)
		}
	}
	if _, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Task: "Docs"}); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Task: "docs", Paths: []string{dir}}); !errors.As(err, new(*claims.HeldError)) {
		t.Errorf("a task of another: %v", err)
	}
	if all, _ := claims.List(t.Context(), w.Registry); len(all) != 1 {
		t.Errorf("a part was claimed: %+v", all)
	}
	if made, err := claims.Make(t.Context(), w.Registry, amber, claims.Wanted{Dir: dir, Paths: []string{"main.go", "./main.go"}}); err != nil || len(made) != 1 {
		t.Errorf("one file twice: %+v %v", made, err)
	}
	if err := os.WriteFile(filepath.Join(w.cfg.Root, claims.FileName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Make(t.Context(), w.Registry, birch, claims.Wanted{Task: "docs"}); err != nil {
		t.Errorf("with a damaged file: %v", err)
	}
}

func TestTwoSessionsThatEditOneFileAreBothToldOnce(t *testing.T) {
	w, amber, birch, dir := claimants(t)
	cedar := w.register("cedar", callers.Caller{Client: "claude", ClientID: "c", PID: 30})
	saw := func(s sessions.Session, name string) {
		t.Helper()
		if err := owed.SawEdit(t.Context(), w.Registry, s, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	told := func(s sessions.Session) (texts []string) {
		t.Helper()
		box, err := w.Mailbox(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		msgs, err := box.PeekAll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs {
			texts = append(texts, m.Content)
		}
		return texts
	}
	saw(amber, "main.go")
	saw(amber, "main.go")
	saw(birch, "other.go")
	saw(cedar, "main.go")
	delete(w.table, 30)
	w.clock = w.clock.Add(time.Minute)
	for range 3 {
		saw(birch, "main.go")
		saw(amber, "main.go")
	}
	if got := told(birch); len(got) != 1 || !strings.HasPrefix(got[0], "You and amber have both edited main.go ") {
		t.Errorf("birch is told %q", got)
	}
	if got := told(amber); len(got) != 2 { // of cedar, and of birch
		t.Errorf("amber is told %q", got)
	}
	w.clock = w.clock.Add(time.Hour)
	saw(birch, "src/a.go")
	w.clock = w.clock.Add(time.Hour)
	saw(amber, "src/a.go")
	if got := told(birch); len(got) != 1 {
		t.Errorf("long after the edit birch is told %q", got)
	}
}
