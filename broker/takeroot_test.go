package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/e2e/need"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// twoRoots is a project with the root of a clone, and one of another clone that an older version
// has made.
type twoRoots struct {
	machine
	ssh, web string // the clones
	into     *broker.Broker
	from     string
}

func newTwoRoots(t *testing.T) *twoRoots {
	m := newMachine(t)
	p := &twoRoots{machine: m, ssh: m.clone("ssh", "git@host.org:o/r.git"), web: m.clone("web", "https://host.org/o/r")}
	m.old("git@host.org:o/r.git")
	p.from = m.old("https://host.org/o/r")
	p.into = p.broker(p.ssh)
	m.open(p.web)
	return p
}

func (p *twoRoots) broker(clone string) *broker.Broker {
	p.t.Helper()
	b, err := broker.OpenHere(p.getenv, clone, broker.Config{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { b.Close() })
	return b
}

func (p *twoRoots) mail(b *broker.Broker, from sessions.Session, to string, bodies ...string) {
	p.t.Helper()
	for _, body := range bodies {
		if _, err := b.Send(p.t.Context(), from, mail.Message{To: to, Content: body}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// bodies are what waits for a session, and what it was handed, oldest first.
func (p *twoRoots) bodies(b *broker.Broker, sid string) (waiting, read []string) {
	p.t.Helper()
	box, err := b.Mailbox(sid)
	if err != nil {
		p.t.Fatal(err)
	}
	msgs, err := box.Peek(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range msgs {
		waiting = append(waiting, m.Content)
	}
	old, err := box.Archive().History(p.t.Context(), 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range slices.Backward(old) {
		read = append(read, m.Content)
	}
	return waiting, read
}

func (p *twoRoots) take(dry bool) (moves.TakenRoot, error) {
	return takeRoot(p.t.Context(), p.into.Root(), p.from, dry)
}

func takeRoot(ctx context.Context, into, from string, dry bool) (t moves.TakenRoot, err error) {
	b, err := broker.Open(broker.Config{Root: into})
	if err != nil {
		return t, err
	}
	defer b.Close()
	old, err := broker.Open(broker.Config{Root: from})
	if err != nil {
		return t, err
	}
	defer old.Close()
	return moves.TakeRoot(ctx, b.Registry, old.Registry, dry)
}

// mergeVariable has the test binary merge a root into another one, and do nothing else.
const mergeVariable = "C2C_TEST_MERGE"

// TestMain runs the tests, or what they have asked for in a process of its own: the nursery, or a
// merge on one thread, because strace counts calls by threads.
func TestMain(m *testing.M) {
	into, from, ok := strings.Cut(os.Getenv(mergeVariable), "\n")
	switch {
	case os.Getenv(nurseryVariable) != "":
		if err := nurse(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case !ok:
		if err := openNursery(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	if _, err := takeRoot(context.Background(), into, from, false); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestARootWithLiveSessionsIsNotMerged(t *testing.T) {
	t.Parallel()
	p := newTwoRoots(t)
	from := p.broker(p.web)
	s, err := from.Register(t.Context(), callers.Caller{Client: "claude", ClientID: "x", PID: os.Getpid()}, "birch")
	if err != nil {
		t.Fatal(err)
	}
	p.mail(from, sessions.Session{ID: "person-7", Alias: "dana"}, "birch", "hello")
	if _, err := p.take(false); !errors.Is(err, moves.ErrRuns) || !strings.Contains(err.Error(), "birch: ") {
		t.Fatalf("error %v", err)
	}
	box, err := from.Mailbox(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if waiting, err := box.Peek(t.Context()); err != nil || len(waiting) != 1 || from.Replaced() {
		t.Errorf("the other root has %v, %v, replaced %v", waiting, err, from.Replaced())
	}
}

// member registers a session whose client has ended.
func (p *twoRoots) member(b *broker.Broker, sid, alias string) sessions.Session {
	p.t.Helper()
	pid := start(p.t, "")
	s, err := b.Register(p.t.Context(), callers.Caller{Client: "claude", ClientID: "of-" + sid, PID: pid, Getenv: env("C2C_MCP_SESSION_ID", sid)}, alias)
	if err != nil || s.ID != sid {
		p.t.Fatalf("registered %+v, %v", s, err)
	}
	end(p.t, pid)
	return s
}

// edit changes a file of a session's facts.
func (p *twoRoots) edit(b *broker.Broker, sid string, change func(facts map[string]any)) {
	p.t.Helper()
	path := filepath.Join(b.Root(), "sessions", sid+".json")
	data, err := os.ReadFile(path)
	facts := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &facts)
	}
	if err == nil {
		change(facts)
		data, err = json.Marshal(facts)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// read hands over what waits for a session.
func (p *twoRoots) read(b *broker.Broker, sid string) {
	p.t.Helper()
	box, err := b.Mailbox(sid)
	if err != nil {
		p.t.Fatal(err)
	}
	l, err := box.Lease(p.t.Context(), "test", 1<<30)
	if err == nil {
		err = l.Ack(p.t.Context(), inbox.Handles(l.Messages)...)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// fill gives both roots sessions with mail, an alias that both have, and a person who has a mailbox
// in both.
func (p *twoRoots) fill() {
	p.t.Helper()
	from := p.broker(p.web)
	for _, b := range []*broker.Broker{p.into, from} {
		place := "new"
		if b == from {
			place = "old"
		}
		amber, person := p.member(b, place+"-amber", "amber"), p.member(b, "both", "dana")
		p.mail(b, person, "amber", place+" read")
		p.read(b, amber.ID)
		p.mail(b, person, "amber", place+" 1", place+" 2")
		p.mail(b, amber, "dana", place+" to dana, read")
		p.read(b, person.ID)
		if _, err := b.Send(p.t.Context(), amber, mail.Message{To: "dana", Content: place + " to dana", AnswerBy: mail.Seconds(time.Now().Add(time.Hour))}); err != nil {
			p.t.Fatal(err)
		}
		dead := fmt.Sprintf(`{"deleted_at":1.5,"from_session_id":"gone","message":{"from_alias":"x","to_alias":"y","content":"%s dead","ts":1.5,"message_id":%[1]q}}`, place)
		if err := os.WriteFile(filepath.Join(b.Root(), callers.DeadLetterFile), []byte(dead+"\n"), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	p.member(from, "only-old", "birch")
	if err := sessions.ExpectAnswers(from.Registry, "old-amber"); err != nil {
		p.t.Fatal(err)
	}
	write(p.t, filepath.Join(p.from, "rooms", "hall", "history.jsonl"), "{}\n")
	write(p.t, filepath.Join(p.from, "rooms", "hall", "members.json"), `[{"alias":"amber","session_id":"old-amber","joined_at":1.5}]`)
	p.shell(from, "elm")
}

// shell registers a session that was made in a shell, so that nobody can say whether it has ended.
func (p *twoRoots) shell(b *broker.Broker, alias string) sessions.Session {
	p.t.Helper()
	s, err := b.Register(p.t.Context(), callers.Caller{Explicit: "s-" + alias}, alias)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// check fails unless all of fill is in one root, once.
func (p *twoRoots) check() {
	p.t.Helper()
	ctx, b := p.t.Context(), p.broker(p.web)
	if b.Root() != p.into.Root() {
		p.t.Fatalf("the old clone has root %s", b.Root())
	}
	if _, told := sessions.LastAnswer(b.Registry, "old-amber"); !told {
		p.t.Error("mail that its model has not answered counts as read")
	}
	aliases := map[string]string{}
	all, err := b.Sessions(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, s := range all {
		aliases[s.ID] = s.Alias
	}
	if want := map[string]string{"new-amber": "amber", "old-amber": "amber-2", "both": "dana", "only-old": "birch", "s-elm": "elm"}; fmt.Sprint(aliases) != fmt.Sprint(want) {
		p.t.Errorf("aliases %v, want %v", aliases, want)
	}
	for sid, want := range map[string][2][]string{
		"new-amber": {{"new 1", "new 2"}, {"new read"}},
		"old-amber": {{"old 1", "old 2"}, {"old read"}},
		"both":      {{"new to dana", "old to dana"}, {"new to dana, read", "old to dana, read"}},
	} {
		waiting, read := p.bodies(b, sid)
		if got := [2][]string{waiting, read}; fmt.Sprint(got) != fmt.Sprint(want) {
			p.t.Errorf("%s has %q, want %q", sid, got, want)
		}
	}
	owing, err := os.ReadFile(filepath.Join(b.Root(), owed.Directory, "both"+owed.Suffix))
	if err != nil || strings.Count(string(owing), `"new to dana"`) != 1 || strings.Count(string(owing), `"old to dana"`) != 1 {
		p.t.Errorf("answers are owing for %s, %v", owing, err)
	}
	dead, err := owed.DeadLetters(b.Registry)
	if err != nil || len(dead) != 2 || dead[0].Message.Content == dead[1].Message.Content {
		p.t.Errorf("dead letters %v, %v", dead, err)
	}
	for _, sid := range []string{"old-amber", "only-old"} {
		if s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Client: "claude", ClientID: "of-" + sid}); err != nil || s.ID != sid {
			p.t.Errorf("the client of %s finds %q, %v", sid, s.ID, err)
		}
	}
	if _, err := os.Stat(filepath.Join(b.Root(), "from-"+fp("https://host.org/o/r"), "rooms", "hall", "history.jsonl")); err != nil {
		p.t.Error("a file of the OCaml c2c's is gone:", err)
	}
	if _, others, err := project.Roots(p.getenv, p.web); err != nil || len(others) > 0 {
		p.t.Errorf("other roots: %q, %v", others, err)
	}
}

func TestTwoRootsBecomeOne(t *testing.T) {
	t.Parallel()
	p := newTwoRoots(t)
	p.fill()
	for _, clone := range []string{p.ssh, p.web} {
		if root, others, err := project.Roots(p.getenv, clone); root != p.into.Root() || fmt.Sprint(others) != fmt.Sprint([]string{p.from}) || err != nil {
			t.Errorf("from %s: %s and %q, %v", clone, root, others, err)
		}
	}
	dry, err := p.take(true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(p.from, "registry.json")); err != nil {
		t.Fatal("the dry run has moved something:", err)
	}
	real, err := p.take(false)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(dry) != fmt.Sprint(real) {
		t.Errorf("would move %v, and moved %v", dry, real)
	}
	p.check()
}

// A merge that is killed before any change of a name loses nothing and doubles nothing, and the
// next one goes on.
func TestAMergeThatIsKilledIsRunAgain(t *testing.T) {
	need.Tools(t, "strace")
	for _, call := range []string{"renameat", "unlinkat", "mkdirat", "symlinkat"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			p, n := newTwoRoots(t), 1
			p.fill()
			state, saved := filepath.Join(p.dir, ".c2c"), filepath.Join(p.dir, "saved")
			mustRun(t, "cp", "-a", state, saved)
			step := 1
			if call == "unlinkat" { // of many files that are removed, every other one
				step = 2
			}
			for ; ; n += step {
				mustRun(t, "rm", "-rf", state)
				mustRun(t, "cp", "-a", saved, state)
				p.into = p.broker(p.ssh)
				cmd := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), os.Args[0])
				cmd.Env = append(os.Environ(), mergeVariable+"="+p.into.Root()+"\n"+p.from)
				out, err := cmd.CombinedOutput()
				if err == nil {
					break
				}
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
					t.Fatalf("%v: %s", err, out)
				}
				if _, others, err := project.Roots(p.getenv, p.web); err != nil {
					t.Fatal(err)
				} else if len(others) > 0 {
					// In a process of its own: here a child of another test may hold a copy of a
					// lock's file for a moment.
					again := exec.Command(os.Args[0])
					again.Env = cmd.Env
					if out, err := again.CombinedOutput(); err != nil {
						t.Fatalf("after a kill at call %d: %v: %s", n, err, out)
					}
				}
				if p.check(); t.Failed() {
					t.Fatalf("killed at call %d", n)
				}
			}
			if call != "symlinkat" && n < 5 {
				t.Errorf("only %d calls", n)
			}
		})
	}
}

func mustRun(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v, %s", name, args, err, out)
	}
}

// A reader with mail in hand keeps it; a second run takes what it has given back.
func TestMailInAReadersHandsStopsAMerge(t *testing.T) {
	t.Parallel()
	p := newTwoRoots(t)
	from := p.broker(p.web)
	s := p.member(from, "sid", "birch")
	p.mail(from, sessions.Session{ID: "person-7", Alias: "dana"}, "birch", "hello")
	box, err := from.Mailbox(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := box.Lease(t.Context(), "test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.take(false); err == nil || !strings.Contains(err.Error(), "uses its mailbox") {
		t.Errorf("error %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.take(false); err != nil {
		t.Fatal(err)
	}
	if waiting, _ := p.bodies(p.into, s.ID); len(waiting) != 1 {
		t.Errorf("waiting %q", waiting)
	}
}

// A sender that had the old root open while it was merged is told that nothing is stored, or its
// message is found.
func TestWhoStillWritesToAMergedRootIsTold(t *testing.T) {
	t.Parallel()
	p := newTwoRoots(t)
	from := p.broker(p.web)
	p.member(from, "sid", "birch")
	box, err := from.Mailbox("sid")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.take(false); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Deliver(t.Context(), mail.Message{From: "dana", To: "birch", Content: "late"}); err == nil {
		t.Error("a message was stored in a root that is gone")
	}
}

func TestSendersDuringAMergeLoseNothing(t *testing.T) {
	t.Parallel()
	p := newTwoRoots(t)
	from := p.broker(p.web)
	p.member(from, "sid", "birch")
	ctx, stop := context.WithCancel(t.Context())
	stored := make(chan []string)
	started := make(chan bool)
	go func() {
		var ids []string
		for n := 0; ctx.Err() == nil; n++ {
			b, err := broker.OpenHere(p.getenv, p.web, broker.Config{})
			if err != nil {
				continue
			}
			r, err := b.Send(context.Background(), sessions.Session{ID: "person-7", Alias: "dana"}, mail.Message{To: "birch", Content: fmt.Sprint(n)})
			b.Close()
			if err == nil {
				ids = append(ids, r.ID)
			}
			if n == 0 {
				close(started)
			}
		}
		stored <- ids
	}()
	<-started
	var err error
	for range 100 { // a sender that has just written there is a reason to run it again
		if _, err = p.take(false); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	stop()
	box, err := p.into.Mailbox("sid")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range <-stored {
		if found, err := box.Find(t.Context(), id); err != nil || len(found) != 1 {
			t.Errorf("message %s: found %d times, %v", id, len(found), err)
		}
	}
}

// Archives of one session become one, in the order of time, however long they are.
func TestArchivesAreMergedInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	p := newTwoRoots(t)
	from := p.broker(p.web)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	long := strings.Repeat("x", 100_000)
	for n := range 40 {
		b := p.into
		if n%2 == 1 {
			b = from
		}
		box, err := inbox.Open(b.Dir(), "person-7", inbox.Config{Now: func() time.Time { return now.Add(time.Duration(n) * time.Hour) }})
		if err == nil {
			_, err = box.Deliver(t.Context(), mail.Message{From: "x", To: "dana", Content: fmt.Sprintf("%02d%s", n, long)})
		}
		var l *inbox.Lease
		if err == nil {
			l, err = box.Lease(t.Context(), "test", 1<<30)
		}
		if err == nil {
			err = l.Ack(t.Context(), inbox.Handles(l.Messages)...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.take(false); err != nil {
		t.Fatal(err)
	}
	_, read := p.bodies(p.into, "person-7")
	if len(read) != 40 || !slices.IsSorted(read) {
		t.Errorf("%d records, sorted: %v", len(read), slices.IsSorted(read))
	}
}

// A session that both roots have keeps the alias and the ids of the new one, and gets what the old
// one knows.
func TestWhatBothRootsKnowOfASessionIsJoined(t *testing.T) {
	t.Parallel()
	p := newTwoRoots(t)
	from, ctx := p.broker(p.web), t.Context()
	p.member(p.into, "both", "dana")
	p.member(p.into, "new", "amber")
	p.member(from, "both", "dora")
	p.member(from, "old", "amber")
	p.edit(from, "both", func(facts map[string]any) {
		facts["client_ids"], facts["move_from"] = []string{"older", "elsewhere"}, []string{"gone"}
	})
	file := filepath.Join(from.Root(), sessions.RegistryFileName)
	before, err := os.ReadFile(file)
	named := strings.Replace(string(before), `"session_id":"old",`, `"session_id":"old","canonical_alias":"amber#r@host",`, 1)
	if err != nil || named == string(before) {
		t.Fatalf("before %s, %v", before, err)
	}
	if err := os.WriteFile(file, []byte(named), 0o600); err != nil {
		t.Fatal(err)
	}
	for b, of := range map[*broker.Broker]string{p.into: "new", from: "both"} {
		if err := os.WriteFile(filepath.Join(b.Root(), "sessions", "ids", "claude.elsewhere"), []byte(of+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	did, err := p.take(false)
	if err != nil || did.Sessions[0].Alias != "dana" || !did.Sessions[0].Joined {
		t.Errorf("merged %+v, %v", did.Sessions, err)
	}
	p.edit(p.into, "both", func(facts map[string]any) {
		if got := fmt.Sprint(facts["client_ids"], facts["move_from"]); got != "[older elsewhere of-both] [gone]" {
			t.Errorf("known of it: %s", got)
		}
	})
	if s, err := callers.Resolve(ctx, p.into.Registry, callers.Caller{Client: "claude", ClientID: "elsewhere"}); err != nil || s.ID != "new" {
		t.Errorf("an id of another session leads to %q, %v", s.ID, err)
	}
	if s, err := callers.Resolve(ctx, p.into.Registry, callers.Caller{Explicit: "old"}); err != nil || s.Alias != "amber-2" {
		t.Errorf("%+v, %v", s, err)
	}
	if merged, err := os.ReadFile(filepath.Join(p.into.Root(), sessions.RegistryFileName)); err != nil || strings.Contains(string(merged), "canonical_alias") {
		t.Errorf("registry %s, %v", merged, err)
	}
	p.edit(p.into, "old", func(facts map[string]any) {
		if facts["alias"] != "amber-2" {
			t.Errorf("it comes back as %q", facts["alias"])
		}
	})
}

func TestTheLaterAnswerOfASessionInBothRootsCounts(t *testing.T) {
	t.Parallel()
	for _, older := range []string{"old root", "new root"} {
		p := newTwoRoots(t)
		from := p.broker(p.web)
		p.member(p.into, "both", "dana")
		p.member(from, "both", "dana")
		later := time.Now().Truncate(time.Second)
		for _, b := range []string{p.into.Root(), p.from} {
			at := later
			if (b == p.from) == (older == "old root") {
				at = later.Add(-time.Hour)
			}
			reg := p.into.Registry
			if b == p.from {
				reg = from.Registry
			}
			if err := errors.Join(sessions.ExpectAnswers(reg, "both"), sessions.SawAnswer(reg, "both", at)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.take(false); err != nil {
			t.Fatal(err)
		}
		if got, _ := sessions.LastAnswer(p.into.Registry, "both"); !got.Equal(later) {
			t.Errorf("%s is older: last answer %v, want %v", older, got, later)
		}
	}
}
