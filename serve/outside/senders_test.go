package outside

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/internal/atomicfile"
)

// desk is a list with a clock that the test moves.
type desk struct {
	*SenderList
	t     testing.TB
	path  string
	clock time.Time
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	d := &desk{t: t, path: filepath.Join(t.TempDir(), "http"), clock: time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)}
	d.SenderList = d.open()
	return d
}

// open gives another List of the same files, as another process has it.
func (d *desk) open() *SenderList {
	d.t.Helper()
	dir, err := atomicfile.Create(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { dir.Close() })
	return OpenSenders(dir, func() time.Time { return d.clock })
}

func (d *desk) allow(s Sender) (token string) {
	d.t.Helper()
	if s.Root == "" {
		s.Root, s.To = "/root", []string{"birch"}
	}
	token, err := d.Allow(d.t.Context(), s)
	if err != nil {
		d.t.Fatalf("allow %+v: %v", s, err)
	}
	return token
}

func TestASenderIsKnownByItsToken(t *testing.T) {
	d := newDesk(t)
	token := d.allow(Sender{Name: "ci"})
	other := d.allow(Sender{Name: "phone", Root: "/other", To: []string{"elm", "oak"}, Verdicts: true})
	if token == other || len(token) != 43 {
		t.Errorf("%q %q", token, other)
	}
	daemon := d.open()
	if s, ok := daemon.ByToken(token); !ok || s.Name != "ci" || s.Root != "/root" || s.Verdicts {
		t.Errorf("%+v %t", s, ok)
	}
	if s, ok := daemon.ByToken(other); !ok || s.Name != "phone" || !s.Verdicts || !slices.Equal(s.To, []string{"elm", "oak"}) {
		t.Errorf("%+v %t", s, ok)
	}
	for _, wrong := range []string{"", token[1:], token + "x", strings.ToUpper(token), sumOf(token)} {
		if s, ok := daemon.ByToken(wrong); ok {
			t.Errorf("%q is the token of %s", wrong, s.Name)
		}
	}
	data, err := os.ReadFile(filepath.Join(d.path, listFile))
	if err != nil || bytes.Contains(data, []byte(token)) {
		t.Errorf("the list has the token: %s %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(d.path, listFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestADeniedSenderIsNobodyAtOnce(t *testing.T) {
	d := newDesk(t)
	token := d.allow(Sender{Name: "ci"})
	bridge := d.allow(Sender{Name: "chat", Root: "/r", To: []string{"elm"}, Bridge: true})
	daemon := d.open()
	if _, ok := daemon.ByToken(token); !ok {
		t.Fatal("it was not known")
	}
	if _, err := d.Admit(t.Context(), "chat", "u1"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ci", "chat"} {
		if err := d.Deny(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{token, bridge} {
		if s, ok := daemon.ByToken(key); ok {
			t.Errorf("%s is known still", s.Name)
		}
	}
	if err := d.Deny(t.Context(), "ci"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	d.allow(Sender{Name: "chat", Root: "/r", To: []string{"elm"}, Bridge: true})
	if s, _ := d.ByName("chat"); s.Knows("u1") {
		t.Error("a writer of the old one is let in")
	}
}

func TestASecretIsWhatTheSchemeHas(t *testing.T) {
	d := newDesk(t)
	hub := d.allow(Sender{Name: "hub", Root: "/r", To: []string{"elm"}, Scheme: GitHub})
	std := d.allow(Sender{Name: "std", Root: "/r", To: []string{"elm"}, Scheme: Standard})
	s, ok := d.ByName("hub")
	if !ok || string(s.Key()) != hub || s.TokenSum != "" {
		t.Errorf("%+v", s)
	}
	if s, ok = d.ByName("std"); !ok || len(s.Key()) != 32 || !strings.HasPrefix(std, "whsec_") || s.Secret != std {
		t.Errorf("%+v", s)
	}
	for _, key := range []string{hub, std} {
		if s, ok := d.ByToken(key); ok {
			t.Errorf("the secret of %s is a token", s.Name)
		}
	}
}

func TestWhatCannotBeASenderIsRefused(t *testing.T) {
	d := newDesk(t)
	good := Sender{Name: "ci", Root: "/r", To: []string{"birch"}}
	for why, change := range map[string]func(*Sender){
		"capital": func(s *Sender) { s.Name = "CI" }, "kelvin": func(s *Sender) { s.Name = "\u212aarl" }, "empty": func(s *Sender) { s.Name = "" },
		"root": func(s *Sender) { s.Root = "r" }, "nobody": func(s *Sender) { s.To = nil }, "many": func(s *Sender) { s.To = make([]string, 33) },
		"alias": func(s *Sender) { s.To = []string{"a b"} }, "outside": func(s *Sender) { s.To = []string{"External-x"} }, "scheme": func(s *Sender) { s.Scheme = "md5" },
		"bridge": func(s *Sender) { s.Scheme, s.Bridge = GitHub, true }, "two": func(s *Sender) { s.Scheme, s.To = GitHub, []string{"a", "b"} },
		"verdicts": func(s *Sender) { s.Scheme, s.Verdicts = Standard, true },
	} {
		s := good
		change(&s)
		if _, err := d.Allow(t.Context(), s); err == nil {
			t.Errorf("%s: %+v was allowed", why, s)
		}
	}
	d.allow(good)
	if _, err := d.Allow(t.Context(), good); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
}

func TestTheListIsBounded(t *testing.T) {
	d := newDesk(t)
	s := Sender{Root: "/" + strings.Repeat("r", 4000), To: []string{"birch"}}
	for n := range 100 {
		s.Name = "s" + strings.Repeat("x", n%50) + string(rune('a'+n/50))
		if _, err := d.Allow(t.Context(), s); errors.Is(err, ErrFull) {
			if all, err := d.All(); err != nil || len(all) < 10 {
				t.Errorf("%d %v", len(all), err)
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("it takes any number")
}

// What is damaged, or others may read, lets nobody in, and is not written over.
func TestADamagedListLetsNobodyIn(t *testing.T) {
	d := newDesk(t)
	token := d.allow(Sender{Name: "ci"})
	path := filepath.Join(d.path, listFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{good[:len(good)-4], []byte(`{}`), bytes.Replace(good, []byte(`"ci"`), []byte(`"CI"`), 1), bytes.Repeat([]byte(" "), maxList+1),
		bytes.Replace(good, []byte(`"token_sha256":"`), []byte(`"token_sha256":"x`), 1), append(append(bytes.TrimSuffix(bytes.Clone(good), []byte("\n]\n")), ','), good[1:]...)} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := d.ByToken(token); ok {
			t.Errorf("let in by %.60q", bad)
		}
		if _, err := d.Allow(t.Context(), Sender{Name: "other", Root: "/r", To: []string{"elm"}}); !errors.As(err, new(*atomicfile.DamagedError)) {
			t.Errorf("%.60q: %v", bad, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bad) {
			t.Errorf("%.60q was written over: %v", bad, err)
		}
	}
	if err := errors.Join(os.WriteFile(path, good, 0o600), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.ByToken(token); ok {
		t.Error("let in by a file that others may read")
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.ByToken(token); !ok {
		t.Error("it is not let in when the list is mended")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.ByToken(token); ok {
		t.Error("let in without a list")
	}
}

func TestAWriterOfABridgeIsLetInAndOut(t *testing.T) {
	d := newDesk(t)
	d.allow(Sender{Name: "chat", Root: "/r", To: []string{"elm"}, Bridge: true})
	d.allow(Sender{Name: "ci"})
	for range 2 {
		if s, err := d.open().Admit(t.Context(), "chat", "u1"); err != nil || s.Name != "chat" || !slices.Equal(s.Identities, []string{"u1"}) {
			t.Fatalf("%+v %v", s, err)
		}
	}
	s, _ := d.ByName("chat")
	if !s.Knows("u1") || s.Knows("U1") || s.Knows("u2") || s.Knows("") {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"ci", "nobody"} {
		if _, err := d.Admit(t.Context(), name, "u1"); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, who := range []string{"", "a b", "'"} {
		if _, err := d.Admit(t.Context(), "chat", who); err == nil {
			t.Errorf("%q is let in", who)
		}
	}
	for _, who := range []string{"u2", "U1", ""} {
		if err := d.Expel(t.Context(), "chat", who); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", who, err)
		}
	}
	if err := d.Expel(t.Context(), "chat", "u1"); err != nil {
		t.Fatal(err)
	}
	if s, _ = d.open().ByName("chat"); s.Knows("u1") {
		t.Errorf("denied, and %+v", s)
	}
}

func TestTheDayOfTheLastUseIsKept(t *testing.T) {
	d := newDesk(t)
	d.allow(Sender{Name: "ci"})
	info := func() os.FileInfo {
		info, err := os.Stat(filepath.Join(d.path, listFile))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	for range 2 {
		if err := d.Used(t.Context(), "ci"); err != nil {
			t.Fatal(err)
		}
	}
	once := info()
	if err := d.Used(t.Context(), "ci"); err != nil || !os.SameFile(once, info()) {
		t.Errorf("written twice a day: %v", err)
	}
	if s, _ := d.open().ByName("ci"); s.LastUsed != "2026-11-22" {
		t.Errorf("%+v", s)
	}
}

func TestWhereASenderMayWrite(t *testing.T) {
	s := Sender{To: []string{"Kim", "oak"}}
	for alias, want := range map[string]string{"kim": "Kim", "KIM": "Kim", "OAK": "oak", "\u212aim": "", "elm": "", "": ""} {
		if got, ok := s.MayWrite(alias); got != want || ok != (want != "") {
			t.Errorf("%q: %q %t", alias, got, ok)
		}
	}
}

// Whoever is let in by a list has a name and a key, each name once; and a damaged list lets nobody
// in.
func FuzzSendersFile(f *testing.F) {
	d := newDesk(f)
	d.allow(Sender{Name: "ci"})
	good, err := os.ReadFile(filepath.Join(d.path, listFile))
	if err != nil {
		f.Fatal(err)
	}
	for _, data := range [][]byte{good, good[:len(good)/2], []byte("null"), []byte("[null]"), []byte(`{"name":"ci"}`), {}} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDesk(t)
		if err := os.WriteFile(filepath.Join(d.path, listFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := d.All()
		if err != nil && len(all) > 0 {
			t.Fatalf("%q: %+v, %v", data, all, err)
		}
		seen := map[string]bool{}
		for _, s := range all {
			if errors.Join(s.check(), s.complete()) != nil || seen[s.Name] {
				t.Fatalf("%q lets %+v in", data, s)
			}
			seen[s.Name] = true
		}
		if s, ok := d.ByToken(""); ok {
			t.Fatalf("%q lets %+v in without a token", data, s)
		}
	})
}
