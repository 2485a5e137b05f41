package relay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// machine is a host with a clock that the test moves.
type machine struct {
	*HostList
	key   *Key
	t     testing.TB
	path  string
	clock time.Time
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{t: t, path: filepath.Join(t.TempDir(), "relay"), clock: time.Date(2026, 11, 25, 11, 0, 0, 0, time.UTC)}
	dir := m.dirThere()
	m.HostList = OpenHosts(dir, func() time.Time { return m.clock })
	m.key = m.load()
	return m
}

func (m *machine) dirThere() *atomicfile.Dir {
	m.t.Helper()
	dir, err := atomicfile.Create(m.path)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { dir.Close() })
	return dir
}

func (m *machine) load() *Key {
	m.t.Helper()
	k, err := LoadKey(m.t.Context(), m.dirThere())
	if err != nil {
		m.t.Fatal(err)
	}
	return k
}

// host is a row for another machine.
func (m *machine) host(name string) Host {
	return Host{Name: name, Carrier: SSH, Key: m.key.Public(), Projects: []string{AnyName}, Aliases: []string{AnyName}}
}

func (m *machine) add(h Host) {
	m.t.Helper()
	if err := m.Add(m.t.Context(), h); err != nil {
		m.t.Fatal(err)
	}
}

func TestTheKeyOfAHostIsMadeOnceAndIsItsOwn(t *testing.T) {
	a, b := newMachine(t), newMachine(t)
	if a.load().Public().ID() != a.key.Public().ID() || a.key.Public().ID() == b.key.Public().ID() {
		t.Error("a key is another one when it is read again, or is that of another host")
	}
	info, err := os.Stat(filepath.Join(a.path, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", info.Mode(), err)
	}
	if f := a.key.Public().Fingerprint(); len(f) != 39 || strings.Count(f, "-") != 7 {
		t.Errorf("fingerprint %q", f)
	}
}

func TestProcessesThatStartTogetherMakeOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relay")
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		dir, err := atomicfile.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		all.Go(func() {
			if k, err := LoadKey(t.Context(), dir); err == nil {
				ids[i] = k.Public().ID()
			}
		})
	}
	all.Wait()
	if all := slices.Compact(ids); len(all) != 1 || all[0] == "" {
		t.Errorf("keys %q", all)
	}
}

// A new key in place of a lost one would make this another host, which the paired ones refuse. A
// person has to know.
func TestALostKeyIsNotReplacedWhileHostsArePaired(t *testing.T) {
	a, b := newMachine(t), newMachine(t)
	a.add(b.host("devbox"))
	if err := a.dirThere().Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(t.Context(), a.dirThere()); !errors.Is(err, ErrKeyLost) {
		t.Error(err)
	}
	if _, err := ReadKey(a.dirThere()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a new key: %v", err)
	}
	if err := a.Remove(t.Context(), "devbox"); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(t.Context(), a.dirThere()); err != nil {
		t.Errorf("without a paired host: %v", err)
	}
}

func TestOnlyTheHostOpensWhatWasSealedForIt(t *testing.T) {
	a, b := newMachine(t), newMachine(t)
	plain := []byte(strings.Repeat("Is the build green?", 1000))
	sealed, err := a.key.Public().Seal(plain)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.key.Open(sealed, 1<<20); err != nil || string(got) != string(plain) {
		t.Errorf("opened: %d bytes, %v", len(got), err)
	}
	if _, err := b.key.Open(sealed, 1<<20); err == nil {
		t.Error("another host opens it")
	}
	if _, err := a.key.Open(sealed, 100); err == nil || !strings.Contains(err.Error(), "more than 100") {
		t.Errorf("more than the bound: %v", err)
	}
	for i := range sealed {
		if i%97 == 0 || i > len(sealed)-20 {
			flipped := slices.Clone(sealed)
			flipped[i] ^= 1
			if got, err := a.key.Open(flipped, 1<<20); err == nil {
				t.Fatalf("byte %d is another one, and %d bytes come out", i, len(got))
			}
		}
	}
}

func TestADamagedKeyIsNotReplaced(t *testing.T) {
	m := newMachine(t)
	path := filepath.Join(m.path, keyFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"empty": "", "cut": string(whole[:len(whole)-60]), "words": "dear diary\n", "two": string(whole) + string(whole), "large": strings.Repeat("#", maxKey+1),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadKey(t.Context(), m.dirThere())
		if !errors.As(err, new(*DamagedHostsError)) || strings.Contains(err.Error(), "AGE-SECRET") {
			t.Errorf("%s: %v", what, err)
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Errorf("%s: it was written again", what)
		}
	}
	if err := errors.Join(os.WriteFile(path, whole, 0o600), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(t.Context(), m.dirThere()); err == nil || !strings.Contains(err.Error(), "other users may read") {
		t.Errorf("others may read it: %v", err)
	}
}

func TestAHostReachesOnlyWhatItMay(t *testing.T) {
	a, b := newMachine(t), newMachine(t)
	h := b.host("devbox")
	h.Projects, h.Aliases = nil, nil
	a.add(h)
	reach := func() (got []bool) {
		t.Helper()
		h, err := a.ByID(b.key.Public().ID())
		if err != nil {
			t.Fatal(err)
		}
		return []bool{h.MayReach("p1", "birch"), h.MayReach("p1", "Birch"), h.MayReach("p1", "elm"), h.MayReach("p2", "birch")}
	}
	check := func(what string, want ...bool) {
		t.Helper()
		if got := reach(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	allow := func(projects, aliases []string) {
		t.Helper()
		if _, err := a.Allow(t.Context(), "devbox", projects, aliases); err != nil {
			t.Fatal(err)
		}
	}
	check("new", false, false, false, false)
	allow(nil, []string{"birch"})
	check("without a project", false, false, false, false)
	allow([]string{"p1"}, nil)
	check("one alias", true, true, false, false)
	allow([]string{AnyName}, []string{AnyName})
	check("all", true, true, true, true)
	if err := a.Revoke(t.Context(), "devbox"); err != nil {
		t.Fatal(err)
	}
	check("revoked", false, false, false, false)
	if _, err := a.Allow(t.Context(), "devbox", []string{AnyName}, nil); !errors.Is(err, ErrRevoked) {
		t.Errorf("allow a revoked one: %v", err)
	}
	if err := a.Add(t.Context(), h); !errors.Is(err, ErrRevoked) {
		t.Errorf("add a revoked one: %v", err)
	}
	if err := a.Remove(t.Context(), "devbox"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ByName("devbox"); !errors.Is(err, ErrUnknown) {
		t.Errorf("removed: %v", err)
	}
}

func TestAnotherKeyUnderAKnownNameIsRefused(t *testing.T) {
	a, b, c := newMachine(t), newMachine(t), newMachine(t)
	a.add(b.host("devbox"))
	if err := a.Add(t.Context(), c.host("devbox")); !errors.Is(err, ErrKeyChanged) || !strings.Contains(err.Error(), c.key.Public().Fingerprint()) {
		t.Errorf("another key: %v", err)
	}
	if err := a.Add(t.Context(), b.host("other")); !errors.Is(err, ErrExists) {
		t.Errorf("another name: %v", err)
	}
	half := b.host("half")
	half.Key = newPublic(half.Key.sign, c.key.public.seal)
	if err := a.Add(t.Context(), half); !errors.Is(err, ErrKeyChanged) {
		t.Errorf("half of another's key: %v", err)
	}
	if h, err := a.BySigningKey(b.key.Public().SigningKey()); err != nil || h.Name != "devbox" {
		t.Errorf("by what signs: %+v, %v", h, err)
	}
	if _, err := a.BySigningKey(nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("by no key: %v", err)
	}
	again := b.host("devbox")
	again.Dest, again.Aliases = "me@devbox", nil
	if err := a.Add(t.Context(), again); err != nil {
		t.Errorf("again: %v", err)
	}
	if h, err := a.ByName("devbox"); err != nil || h.Dest != "me@devbox" || !h.MayReach("p", "birch") {
		t.Errorf("again: %+v, %v", h, err)
	}
}

func TestAChangeByAnotherProcessCountsAtOnce(t *testing.T) {
	a, b := newMachine(t), newMachine(t)
	other := OpenHosts(a.dirThere(), func() time.Time { return a.clock })
	a.add(b.host("devbox"))
	if h, err := other.ByName("devbox"); err != nil || !h.MayReach("p", "birch") {
		t.Fatalf("%+v, %v", h, err)
	}
	if err := a.Revoke(t.Context(), "devbox"); err != nil {
		t.Fatal(err)
	}
	if h, err := other.ByName("devbox"); err != nil || h.MayReach("p", "birch") {
		t.Errorf("revoked, and it may still write: %+v, %v", h, err)
	}
}

func TestADamagedListLetsNobodyIn(t *testing.T) {
	a, b := newMachine(t), newMachine(t)
	a.add(b.host("devbox"))
	path := filepath.Join(a.path, listFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	row := string(whole[strings.Index(string(whole), "[")+1 : strings.LastIndex(string(whole), "]")])
	for what, text := range map[string]string{
		"empty": "", "cut": string(whole[:len(whole)-10]), "an array": "[]", "twice": `{"hosts":[` + row + "," + row + "]}",
		"no key":    `{"hosts":[{"name":"devbox","carrier":"ssh"}]}`,
		"an option": strings.Replace(string(whole), `"carrier": "ssh"`, `"carrier": "ssh","ssh":"-oProxyCommand=x"`, 1),
		"a carrier": strings.Replace(string(whole), `"carrier": "ssh"`, `"carrier": "pigeon"`, 1),
		"large":     `{"hosts":[]}` + strings.Repeat(" ", maxList),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errID := a.ByID(b.key.Public().ID())
		errAdd := a.Add(t.Context(), b.host("devbox"))
		for _, err := range []error{errID, errAdd} {
			if !errors.As(err, new(*DamagedHostsError)) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Errorf("%s: it was written again", what)
		}
	}
	if err := errors.Join(os.WriteFile(path, whole, 0o600), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.All(); err == nil || !strings.Contains(err.Error(), "other users may read") {
		t.Errorf("others may read it: %v", err)
	}
}

func TestFiveHundredHostsFitIntoTheList(t *testing.T) {
	b := newMachine(t)
	c := content{}
	h := b.host("a-host-with-a-name-of-some-length")
	h.Dest = "someone@a-host-with-a-name-of-some-length.example.org"
	for range 500 {
		c.Hosts = append(c.Hosts, h)
	}
	if data, err := formatList(c); err != nil || len(data) > maxList {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestTwoHostsArePairedByInvitationAndAnswer(t *testing.T) {
	a, b := newMachine(t), newMachine(t)
	i, err := a.Invite(t.Context(), a.key, "laptop", "", Host{Carrier: NATS, Projects: []string{"p"}, Aliases: []string{"birch"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseInvitation("  " + i.String()[:70] + "\n" + i.String()[70:] + "\r\n")
	if err != nil || got.Key.ID() != a.key.Public().ID() || got.Name != "laptop" || got.Carrier != NATS {
		t.Fatalf("%+v, %v", got, err)
	}
	answer, err := got.Answer(b.key, "devbox", "ssh-ed25519 AAAA")
	if err != nil {
		t.Fatal(err)
	}
	if IsAnswer(i.String()) || !IsAnswer(answer.String()) {
		t.Error("an answer is taken for an invitation")
	}
	back, err := ParseInvitationAnswer(answer.String())
	if err != nil {
		t.Fatal(err)
	}
	h, err := a.Redeem(t.Context(), a.key, back)
	if err != nil || h.Name != "devbox" || h.Key.ID() != b.key.Public().ID() {
		t.Fatalf("%+v, %v", h, err)
	}
	if h, err := a.ByID(b.key.Public().ID()); err != nil || !h.MayReach("p", "birch") || h.MayReach("p", "elm") {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := a.Redeem(t.Context(), a.key, back); !errors.Is(err, ErrInvitation) {
		t.Errorf("a second time: %v", err)
	}
}

func TestAnInvitationIsBurntByOneWrongAnswerAndByAnHour(t *testing.T) {
	a, b, c := newMachine(t), newMachine(t), newMachine(t)
	invite := func() InvitationAnswer {
		t.Helper()
		i, err := a.Invite(t.Context(), a.key, "laptop", "", Host{Carrier: SSH}, false)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := i.Answer(b.key, "devbox", "ssh-ed25519 AAAA")
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for what, change := range map[string]func(*InvitationAnswer){
		"proof": func(a *InvitationAnswer) { a.Proof[0] ^= 1 }, "key": func(a *InvitationAnswer) { a.Key = c.key.Public() }, "name": func(a *InvitationAnswer) { a.Name = "other" }, "key of ssh": func(a *InvitationAnswer) { a.SSHKey = "ssh-ed25519 BBBB" },
	} {
		right := invite()
		wrong := right
		wrong.Proof = slices.Clone(right.Proof)
		change(&wrong)
		for _, answer := range []InvitationAnswer{wrong, right} {
			if _, err := a.Redeem(t.Context(), a.key, answer); !errors.Is(err, ErrInvitation) {
				t.Errorf("another %s: %v", what, err)
			}
		}
	}
	late := invite()
	a.clock = a.clock.Add(InvitationTime)
	if _, err := a.Redeem(t.Context(), a.key, late); !errors.Is(err, ErrInvitation) {
		t.Errorf("after an hour: %v", err)
	}
	if all, err := a.All(); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestAProjectHasOneNameAndOneRoot(t *testing.T) {
	a := newMachine(t)
	for _, p := range []NamedProject{{"site", "/a"}, {"site", "/b"}, {"shop", "/b"}} {
		if err := a.NameProject(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := a.Projects(); err != nil || !slices.Equal(all, []NamedProject{{"shop", "/b"}}) {
		t.Errorf("%v, %v", all, err)
	}
	if err := a.NameProject(t.Context(), NamedProject{"../x", "/b"}); err == nil {
		t.Error("a bad name is taken")
	}
}

func TestNamesOfHosts(t *testing.T) {
	for machine, want := range map[string]string{"Devbox.example.org": "devbox", "my_mac": "my-mac", "-": "", "büro": "b-ro", strings.Repeat("a", 80): strings.Repeat("a", 63)} {
		if got := HostNameOf(machine); got != want || got != "" && mail.CheckHost(got) != nil {
			t.Errorf("%q: %q", machine, got)
		}
	}
	for _, bad := range []string{"", "-a", "A", "a.b", "a@b", strings.Repeat("a", 64), "a\n"} {
		if mail.CheckHost(bad) == nil {
			t.Errorf("name %q is taken", bad)
		}
	}
	for _, bad := range []string{"", "-oProxyCommand=x", "a b", "a\nb", "a;b", "$(x)"} {
		if CheckDest(bad) == nil {
			t.Errorf("destination %q is taken", bad)
		}
	}
	for _, good := range []string{"devbox", "me@devbox.example.org", "ssh://me@[::1]:2222", "me@10.0.0.1"} {
		if err := CheckDest(good); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParseList(f *testing.F) {
	k, err := NewKey()
	if err != nil {
		f.Fatal(err)
	}
	c := content{[]NamedProject{{"site", "/a"}}, []Host{{Name: "devbox", Carrier: SSH, Dest: "me@devbox", Key: k.Public(), Aliases: []string{AnyName}}}}
	whole, err := formatList(c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"hosts":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseList(data)
		if err != nil {
			return
		}
		text, err := formatList(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseList(text)
		if err != nil || len(again.Hosts) != len(c.Hosts) {
			t.Fatalf("%s\nis read as %v, %v", text, again, err)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	k, err := NewKey()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(k.text())
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := parseKey(data)
		if err != nil {
			return
		}
		again, err := parseKey(k.text())
		if err != nil || again.Public().ID() != k.Public().ID() {
			t.Fatal(err)
		}
	})
}

func FuzzParsePasted(f *testing.F) {
	k, err := NewKey()
	if err != nil {
		f.Fatal(err)
	}
	i := Invitation{Number: "n", Secret: make([]byte, invitationBytes), Name: "laptop", Carrier: SSH, Address: "me@laptop", Key: k.Public()}
	a, err := i.Answer(k, "devbox", "ssh-ed25519 AAAA")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(i.String())
	f.Add(a.String())
	f.Fuzz(func(t *testing.T, text string) {
		if i, err := ParseInvitation(text); err == nil {
			if again, err := ParseInvitation(i.String()); err != nil || again.String() != i.String() {
				t.Fatal(err)
			}
		}
		if a, err := ParseInvitationAnswer(text); err == nil {
			if again, err := ParseInvitationAnswer(a.String()); err != nil || again.String() != a.String() {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkSealAndOpen(b *testing.B) {
	m := newMachine(b)
	plain := make([]byte, 75<<10)
	for b.Loop() {
		sealed, err := m.key.Public().Seal(plain)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.key.Open(sealed, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}
