package outside

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

func (d *desk) knock(name, identity string) string {
	d.t.Helper()
	code, first, err := d.Knock(d.t.Context(), Sender{Name: name}, identity)
	if err != nil || first != (code != "") {
		d.t.Fatalf("knock %s %s: %q %t %v", name, identity, code, first, err)
	}
	return code
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
	code := d.knock("chat", "u1")
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
	if s, id, err := d.Pair(t.Context(), code); !errors.Is(err, ErrCode) {
		t.Errorf("a code of the old one lets %s in at %s: %v", id, s.Name, err)
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
		damaged := new(DamagedSendersError)
		if _, err := d.Allow(t.Context(), Sender{Name: "other", Root: "/r", To: []string{"elm"}}); !errors.As(err, &damaged) {
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

func TestWhoeverIsPairedMayWrite(t *testing.T) {
	d := newDesk(t)
	d.allow(Sender{Name: "chat", Root: "/r", To: []string{"elm"}, Bridge: true})
	code := d.knock("chat", "u1")
	if len(code) != codeLen || strings.Trim(code, codeLetters) != "" {
		t.Fatalf("code %q", code)
	}
	if again := d.knock("chat", "u1"); again != "" {
		t.Errorf("a second code %q", again)
	}
	if all, err := d.Waiting(); err != nil || len(all) != 1 || all[0].Identity != "u1" {
		t.Errorf("%+v %v", all, err)
	}
	s, id, err := d.open().Pair(t.Context(), strings.ToUpper(code[:4])+" - "+code[4:])
	if err != nil || id != "u1" || s.Name != "chat" {
		t.Fatalf("%s %+v %v", id, s, err)
	}
	s, _ = d.ByName("chat")
	if !s.Knows("u1") || s.Knows("U1") || s.Knows("u2") || s.Knows("") {
		t.Errorf("%+v", s)
	}
	if _, _, err := d.Pair(t.Context(), code); !errors.Is(err, ErrCode) {
		t.Errorf("used twice: %v", err)
	}
	if again := d.knock("chat", "u1"); again != "" {
		t.Errorf("who is known has the code %q", again)
	}
	for _, who := range []string{"u2", "U1", ""} {
		if err := d.Unpair(t.Context(), "chat", who); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", who, err)
		}
	}
	if err := d.Unpair(t.Context(), "chat", "u1"); err != nil {
		t.Fatal(err)
	}
	if s, _ = d.open().ByName("chat"); s.Knows("u1") || d.knock("chat", "u1") == "" {
		t.Errorf("denied, and %+v", s)
	}
}

func TestCodesAreFewAndExpire(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"chat", "sms"} {
		d.allow(Sender{Name: name, Root: "/r", To: []string{"elm"}, Bridge: true})
	}
	d.allow(Sender{Name: "ci"})
	first := d.knock("chat", "u1")
	for _, id := range []string{"u2", "u3"} {
		if d.knock("chat", id) == "" {
			t.Errorf("no code for %s", id)
		}
	}
	if code := d.knock("chat", "u4"); code != "" {
		t.Errorf("a fourth code %q", code)
	}
	if d.knock("sms", "u4") == "" {
		t.Error("another bridge has no code")
	}
	for _, name := range []string{"ci", "nobody"} {
		if code, _, err := d.Knock(t.Context(), Sender{Name: name}, "u1"); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %q %v", name, code, err)
		}
	}
	if _, _, err := d.Knock(t.Context(), Sender{Name: "chat"}, "a b"); err == nil {
		t.Error("an identity of two words")
	}
	d.clock = d.clock.Add(codeTime)
	if _, _, err := d.Pair(t.Context(), first); !errors.Is(err, ErrCode) {
		t.Errorf("an old code: %v", err)
	}
	if d.knock("chat", "u4") == "" || d.knock("chat", "u1") == "" {
		t.Error("old codes keep others from one")
	}
}

func TestCodesThatCannotBeReadAreMadeAnew(t *testing.T) {
	d := newDesk(t)
	d.allow(Sender{Name: "chat", Root: "/r", To: []string{"elm"}, Bridge: true})
	first := d.knock("chat", "u1")
	path := filepath.Join(d.path, pairingFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{good[:len(good)-4], append(good, bytes.Repeat([]byte(" "), maxList)...)} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if again := d.knock("chat", "u1"); again == "" || again == first {
			t.Errorf("%d bytes: the code %q", len(bad), again)
		}
	}
}

func TestCodesCannotBeGuessed(t *testing.T) {
	d := newDesk(t)
	d.allow(Sender{Name: "chat", Root: "/r", To: []string{"elm"}, Bridge: true})
	code := d.knock("chat", "u1")
	for range maxGuesses {
		if _, _, err := d.Pair(t.Context(), "aaaaaaaa"); !errors.Is(err, ErrCode) {
			t.Fatal(err)
		}
	}
	if _, _, err := d.open().Pair(t.Context(), code); !errors.Is(err, ErrGuesses) {
		t.Errorf("a sixth guess in a minute: %v", err)
	}
	d.clock = d.clock.Add(guessTime)
	if _, _, err := d.Pair(t.Context(), code); err != nil {
		t.Error(err)
	}
}

func TestPairingAtOnce(t *testing.T) {
	d := newDesk(t)
	d.allow(Sender{Name: "chat", Root: "/r", To: []string{"elm"}, Bridge: true})
	var wg sync.WaitGroup
	codes := make([]string, 8)
	for n := range codes {
		l := d.open()
		wg.Go(func() { codes[n], _, _ = l.Knock(context.Background(), Sender{Name: "chat"}, "u1") })
	}
	wg.Wait()
	codes = slices.DeleteFunc(codes, func(c string) bool { return c == "" })
	if len(codes) != 1 {
		t.Fatalf("codes %q", codes)
	}
	for range 4 {
		l := d.open()
		wg.Go(func() { l.Pair(context.Background(), codes[0]) })
	}
	wg.Wait()
	if s, ok := d.ByName("chat"); !ok || !slices.Equal(s.Identities, []string{"u1"}) {
		t.Errorf("%+v", s)
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

// Whatever stands there, a code is right for one that was given it, and new ones can be given.
func FuzzPairingFile(f *testing.F) {
	for _, s := range []string{`{"codes":[{"code":"abcdefgh","bridge":"chat","identity":"7","expires":1e18}],"wrong":[1]}`, `{"codes":[null]}`, `{"wrong":[1e300,-1]}`, "[]", "", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDesk(t)
		d.allow(Sender{Name: "chat", Bridge: true})
		if err := os.WriteFile(filepath.Join(d.path, pairingFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		waiting, err := d.Waiting()
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		for _, k := range waiting {
			if CheckIdentity(k.Identity) != nil {
				t.Fatalf("%q: %+v", data, k)
			}
		}
		if bridge, identity, err := d.Pair(t.Context(), "zzzzzzzz"); err == nil && (bridge.Name != "chat" || CheckIdentity(identity) != nil) {
			t.Fatalf("%q: %+v %q", data, bridge, identity)
		}
		if _, _, err := d.Knock(t.Context(), Sender{Name: "chat"}, "8"); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
	})
}
