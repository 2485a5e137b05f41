package permission

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/internal/atomicfile"
)

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type lab struct {
	*Store
	t     *testing.T
	clock *clock
	path  string // of the root
}

func newLab(t *testing.T) *lab {
	t.Helper()
	c := &clock{at: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	path := t.TempDir()
	return &lab{Store: open(t, path, c.now), t: t, clock: c, path: path}
}

func open(t *testing.T, path string, now func() time.Time) *Store {
	t.Helper()
	root, err := atomicfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return Open(root, now)
}

// other is the same root in the hands of another process.
func (l *lab) other() *Store { return open(l.t, l.path, l.clock.now) }

func (l *lab) file(name string) string { return filepath.Join(l.path, dirName, name) }

func (l *lab) ask(session, id string) {
	l.t.Helper()
	if err := l.Ask(l.t.Context(), request(session, id)); err != nil {
		l.t.Fatal(err)
	}
}

// tidy is a change of nothing.
func (l *lab) tidy(ctx context.Context) error {
	return l.change(ctx, func(d *files) error {
		_, err := d.tidy(ctx)
		return err
	})
}

func request(session, id string) Request {
	return Request{ID: id, Session: session, Alias: session + "-alias", Tool: "Bash", Description: "show a secret word", Input: `{"command":"secret"}`}
}

func (l *lab) one() Request {
	l.t.Helper()
	all, err := l.other().List(l.t.Context())
	if err != nil || len(all) != 1 {
		l.t.Fatalf("requests %+v, %v", all, err)
	}
	return all[0]
}

// audited gives the verdicts and results of the audit, in its order.
func (l *lab) audited() (lines []string) {
	l.t.Helper()
	data, err := os.ReadFile(l.file(auditFile))
	if err != nil {
		l.t.Fatal(err)
	}
	if strings.Contains(string(data), "secret") {
		l.t.Errorf("the audit tells what the tool was to do: %s", data)
	}
	for text := range strings.Lines(string(data)) {
		var line struct{ ID, Session_ID, Tool, Verdict, By, Via, Result string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			l.t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, strings.Join(strings.Fields(line.Verdict+" "+line.By+" "+line.Result), " "))
	}
	return lines
}

func (l *lab) wantAudit(want ...string) {
	l.t.Helper()
	if got := l.audited(); !slices.Equal(got, want) {
		l.t.Errorf("audit %q, want %q", got, want)
	}
}

var yes = Verdict{Allow: true, By: "max", Via: "terminal", Proof: "login"}

func TestVerdictIsKeptAndSent(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	l.ask("s1", "abcde")
	if r := l.one(); r.State != StateOpen || r.Name() != "s1-alias/abcde" || r.ExpiresAt-r.AskedAt != Lifetime.Seconds() {
		t.Errorf("asked %+v", r)
	}
	r, err := l.other().Decide(ctx, " ABCDE ", yes)
	if err != nil || r.State != StateAllowed {
		t.Fatalf("decided %+v, %v", r, err)
	}
	if r := l.one(); r.State != StateAllowed || r.By != "max" || r.Via != "terminal" || r.At == 0 || r.SentAt != 0 {
		t.Errorf("decided %+v", r)
	}
	for range 2 { // the server may look twice
		if err := l.Settle(ctx, "s1", "abcde", Sent); err != nil {
			t.Error(err)
		}
	}
	if r := l.one(); r.State != StateAllowed || r.SentAt == 0 {
		t.Errorf("sent %+v", r)
	}
	l.wantAudit("asked", "allow max recorded", "allow max sent")

	l.ask("s2", "bcdef")
	if r, err := l.Decide(ctx, "bcdef", Verdict{By: "ci", Proof: "login"}); err != nil || r.State != StateDenied {
		t.Errorf("decided %+v, %v", r, err)
	}
}

// c2c allow looks the request up first, to prove that a person decides it. A request that comes
// after this look must not be decided.
func TestAVerdictWithoutProofDoesNotCount(t *testing.T) {
	l := newLab(t)
	l.ask("s1", "abcde")
	for _, allow := range []bool{true, false} {
		if _, err := l.Decide(t.Context(), "abcde", Verdict{Allow: allow, By: "max", Via: "terminal"}); !errors.Is(err, ErrNoProof) || l.one().State != StateOpen {
			t.Errorf("%v; the request is %s", err, l.one().State)
		}
	}
	l.wantAudit("asked", "allow max refused: no proof", "deny max refused: no proof")
}

func TestVerdictThatDoesNotCountIsToldWhy(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	decide := func(id string, v Verdict) error {
		_, err := l.other().Decide(ctx, id, v)
		return err
	}
	var decided *DecidedError
	if err := decide("abcde", yes); !errors.Is(err, ErrUnknown) {
		t.Errorf("of nothing: %v", err)
	}
	l.ask("s1", "abcde")
	if err := decide("abcdf", yes); !errors.Is(err, ErrUnknown) {
		t.Errorf("another id: %v", err)
	}
	if err := decide("abcde", Verdict{Allow: true, By: "ci", Sessions: []string{"s2"}}); !errors.Is(err, ErrNoRight) {
		t.Errorf("of another session: %v", err)
	}
	if err := decide("abcde", Verdict{Allow: true, By: "ci", Sessions: []string{}}); !errors.Is(err, ErrNoRight) {
		t.Errorf("of no session: %v", err)
	}
	if err := l.Refuse(ctx, "abcde", Verdict{By: "ci", Proof: "login"}, ErrNoRight); err != nil {
		t.Errorf("without a right: %v", err)
	}
	l.ask("s2", "abcde")
	if err := decide("abcde", yes); !errors.Is(err, ErrSeveral) || !strings.HasSuffix(err.Error(), "the id abcde; name one: s1-alias/abcde, s2-alias/abcde") {
		t.Errorf("of two: %v", err)
	}
	if err := decide("S1-alias/abcde", Verdict{By: "max", Proof: "login"}); err != nil {
		t.Errorf("named: %v", err)
	}
	if err := decide("s1/abcde", yes); !errors.As(err, &decided) || decided.Request.State != StateDenied {
		t.Errorf("a second: %v", err)
	}
	if err := decide("abcde", yes); err != nil {
		t.Errorf("the one that is still open: %v", err)
	}
	l.ask("s1", "bcdef")
	l.Settle(ctx, "s1", "bcdef", StateTerminal)
	if err := decide("bcdef", yes); !errors.As(err, &decided) || decided.Request.State != StateTerminal {
		t.Errorf("answered in the terminal: %v", err)
	}
	l.ask("s1", "cdefg")
	l.clock.add(Lifetime)
	if err := decide("cdefg", yes); !errors.As(err, &decided) || decided.Request.State != StateExpired {
		t.Errorf("late: %v", err)
	}
	l.wantAudit("allow max refused: unknown", "asked", "allow max refused: unknown", "allow ci refused: no right",
		"allow ci refused: no right", "deny ci refused: no right", "asked", "allow max refused: several", "deny max recorded",
		"allow max refused: second", "allow max recorded", "asked", "terminal", "allow max refused: late", "asked", "expired",
		"allow max refused: expired")
}

// What was said first stays, whoever comes later.
// A client that cuts without a mark, as the Channels reference does after 200 characters.
func TestAnInputThatIsNoWholeJSONValueIsNotShownInFull(t *testing.T) {
	l := newLab(t)
	for input, whole := range map[string]bool{`{"command":"ls; `: false, `{"command":"ls"} {`: false, "ls": false, "": false, `{"command":"l\u001bs"}`: true, " {}\n": true} {
		r := request("s1", "abcde")
		r.Input = input
		if err := l.Ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		_, err := l.Decide(t.Context(), "abcde", Verdict{Allow: true, By: "max", Proof: "login"})
		if errors.Is(err, ErrPartial) == whole || whole && err != nil {
			t.Errorf("%q: %v", input, err)
		}
		if _, err := l.Decide(t.Context(), "abcde", Verdict{By: "max", Proof: "login"}); err != nil && !whole {
			t.Errorf("%q is not denied: %v", input, err)
		}
		l = newLab(t)
	}
}

func TestFirstAnswerWins(t *testing.T) {
	l := newLab(t)
	l.ask("s1", "abcde")
	const all = 16
	won := make(chan error, all)
	var wait sync.WaitGroup
	for i := range all {
		store := l.other()
		wait.Go(func() {
			if i%4 == 0 {
				l.Settle(context.Background(), "s1", "abcde", StateTerminal)
				won <- ErrUnknown
				return
			}
			_, err := store.Decide(context.Background(), "abcde", Verdict{Allow: i%2 == 0, By: fmt.Sprint("p", i), Proof: "login"})
			won <- err
		})
	}
	wait.Wait()
	close(won)
	winners := 0
	for err := range won {
		if err == nil {
			winners++
		}
	}
	r := l.one()
	if r.State == StateTerminal && winners != 0 || r.State != StateTerminal && (winners != 1 || r.By == "") {
		t.Errorf("%d won, and it is %+v", winners, r)
	}
}

// What a client that has ended has asked is not open, also if there was no time to write that.
func TestAClientThatIsGoneLeavesNothingOpen(t *testing.T) {
	l := newLab(t)
	l.ask("s1", "abcde")
	ctx, late := context.WithCancel(t.Context())
	late()
	if err := l.Settle(ctx, "s1", "abcde", StateGone); err == nil {
		t.Error("it was written behind its time")
	}
	if r := l.one(); r.State != StateGone {
		t.Errorf("it is %s", r.State)
	}
}

func TestSettledDoesNotChangeWhatWasDecided(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	l.ask("s1", "abcde")
	if err := l.Settle(ctx, "s1", "abcde", Sent); err != nil || l.one().State != StateOpen {
		t.Errorf("sent before it was decided: %+v, %v", l.one(), err)
	}
	if err := l.Settle(ctx, "s1", "zzzzz", StateGone); !errors.Is(err, ErrUnknown) {
		t.Errorf("settled what is not there: %v", err)
	}
	l = newLab(t)
	l.ask("s1", "abcde")
	if _, err := l.Decide(ctx, "abcde", yes); err != nil {
		t.Fatal(err)
	}
	for _, how := range []State{StateTerminal, StateGone} {
		if err := l.Settle(ctx, "s1", "abcde", how); err != nil || l.one().State != StateAllowed {
			t.Errorf("%s: %+v, %v", how, l.one(), err)
		}
	}
}

func TestMain(m *testing.M) {
	if root := os.Getenv("PERMISSION_TEST_ASKER"); root != "" {
		dir, err := atomicfile.Open(root)
		if err == nil {
			err = Open(dir, time.Now).Ask(context.Background(), request("s1", "abcde"))
		}
		fmt.Println(err)
		bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRequestOfAKilledServerIsVoid(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	l.clock.at = time.Now()
	asker := exec.Command(os.Args[0])
	asker.Env = append(os.Environ(), "PERMISSION_TEST_ASKER="+l.path)
	in, _ := asker.StdinPipe()
	defer in.Close()
	out, _ := asker.StdoutPipe()
	if err := asker.Start(); err != nil {
		t.Fatal(err)
	}
	if said, _ := bufio.NewReader(out).ReadString('\n'); said != "<nil>\n" {
		t.Fatalf("asked: %s", said)
	}
	if r := l.one(); r.State != StateOpen {
		t.Errorf("while its server lives: %+v", r)
	}
	asker.Process.Kill()
	asker.Wait()
	if r := l.one(); r.State != StateGone {
		t.Errorf("after a kill: %+v", r)
	}
	var decided *DecidedError
	if _, err := l.Decide(ctx, "abcde", yes); !errors.As(err, &decided) || decided.Request.State != StateGone {
		t.Errorf("decided: %v", err)
	}
	l.wantAudit("asked", "gone", "allow max refused: late")
}

func TestHostileRequestIsBounded(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	for _, r := range []Request{{ID: "ABCDE", Session: "s"}, {ID: "abcdl", Session: "s"}, {ID: "../ab", Session: "s"}, {ID: "abcde", Session: "../s"},
		{ID: "abcde", Session: strings.Repeat("s", 129)}, {ID: "abcde", Session: "s", Alias: "a/b"}, {ID: "abcde", Session: "s"}} {
		if err := l.Ask(ctx, r); err == nil {
			t.Errorf("asked %+v", r)
		}
	}
	r := request("s1", "abcde")
	r.Tool, r.Description, r.Input = strings.Repeat("x", 1000), "\x1b[2J\u202e"+strings.Repeat("é", 1<<20), "a\nb\xff\x00"
	r.State, r.By, r.SentAt = StateAllowed, "itself", 1
	if err := l.Ask(ctx, r); err != nil {
		t.Fatal(err)
	}
	got := l.one()
	if len(got.Tool) > maxName || len(got.Description) > maxText || !strings.HasPrefix(got.Description, `\u001b[2J\u202eé`) ||
		!strings.HasSuffix(got.Description, "é…") || got.Input != "a\nb\\u00ff\\u0000" || got.State != StateOpen || got.By != "" || got.SentAt != 0 {
		t.Errorf("asked %.200q %.40q…%q %q %+v", got.Tool, got.Description, got.Description[len(got.Description)-8:], got.Input, got.State)
	}
	if err := l.Ask(ctx, r); err != nil {
		t.Errorf("a repetition: %v", err)
	}
	other := r
	other.Input = "rm"
	if err := l.Ask(ctx, other); !errors.Is(err, ErrTaken) || l.one().Input != got.Input {
		t.Errorf("another request took the id: %v", err)
	}
	for i := 1; i < maxSession; i++ {
		l.ask("s1", letters(i))
	}
	if err := l.Ask(ctx, request("s1", "zzzzz")); !errors.Is(err, ErrFull) {
		t.Errorf("one more of a session: %v", err)
	}
	if _, err := l.Decide(ctx, "abcde", Verdict{Allow: true, Partial: true, By: "max", Proof: "login"}); err != nil {
		t.Fatal(err)
	}
	l.ask("s1", "zzzzz") // what is over does not count
	if err := l.Ask(ctx, r); !errors.Is(err, ErrTaken) {
		t.Errorf("the id of one that is over: %v", err)
	}
}

// letters is an id for each number.
func letters(i int) string {
	const of = "abcdefghijkmnopqrstuvwxyz"
	return string([]byte{'y', 'y', of[i/625%25], of[i/25%25], of[i%25]})
}

func TestWhatIsOverIsForgotten(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	l.ask("s1", "abcde")
	l.ask("s1", "bcdef")
	l.Decide(ctx, "abcde", yes)
	l.clock.add(kept + time.Second)
	l.ask("s2", "cdefg")
	if _, err := os.Stat(l.file("abcde.s1.json")); !os.IsNotExist(err) {
		t.Errorf("one that is long over: %v", err)
	}
	l.Settle(ctx, "s1", "abcde", Sent)
	l.clock.add(kept + time.Second)
	l.Settle(ctx, "s1", "bcdef", StateGone)
	if err := l.tidy(ctx); err != nil {
		t.Fatal(err)
	}
	names, _ := os.ReadDir(l.file(""))
	var left []string
	for _, n := range names {
		left = append(left, n.Name())
	}
	// Nobody wrote before that s2's request has expired.
	if want := []string{auditFile, "cdefg.s2.json", "cdefg.s2.lock", lockFile}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	l.wantAudit("asked", "asked", "allow max recorded", "expired", "asked", "expired")
}

func TestManyThatAreOver(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	d, err := l.Store.open(true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.dir.Close()
	for i := range maxOver + 5 {
		r := request("s1", letters(i))
		r.State, r.AskedAt, r.At = StateDenied, float64(l.clock.at.Unix()+int64(i)), float64(l.clock.at.Unix())
		data, _ := json.Marshal(r)
		if err := os.WriteFile(l.file(fileOf(r.Session, r.ID)+ending), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.tidy(ctx); err != nil {
		t.Fatal(err)
	}
	all, err := l.List(ctx)
	if err != nil || len(all) != maxOver || all[0].ID != letters(5) {
		t.Errorf("%d are left, %v", len(all), err)
	}
}

func TestPlantedFilesAreNoRequests(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	l.ask("s1", "abcde")
	good, err := os.ReadFile(l.file("abcde.s1.json"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "f")
	foul := strings.NewReplacer("abcde", "bcdef", "show a secret word", `\u001b[2J`).Replace(string(good))
	for name, text := range map[string]string{
		"bcdef.s2.json": string(good), "cdefg.s1.json": strings.ReplaceAll(string(good), "abcde", "cdefg") + strings.Repeat(" ", maxFile), "defgh.s1.json": "{", "efghi.s1.json": "",
		"fghij.s1.json": strings.NewReplacer("abcde", "fghij", `"open"`, `"any"`).Replace(string(good)), "x": "x",
		"mnopq.s1.json": strings.NewReplacer("abcde", "mnopq", "s1-alias", `a\u001b/b`).Replace(string(good)), "bcdef.s1.json": foul,
	} {
		if err := os.WriteFile(l.file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(elsewhere, []byte(strings.ReplaceAll(string(good), "abcde", "ghijk")), 0o600)
	os.Symlink(elsewhere, l.file("ghijk.s1.json"))
	os.Mkdir(l.file("hijkm.s1.json"), 0o700)
	all, err := l.List(ctx)
	if err != nil || len(all) != 2 || all[0].ID != "abcde" || all[1].Description != `\u001b[2J` || all[1].State != StateGone {
		t.Errorf("requests %+v, %v", all, err)
	}
	if _, err := l.Decide(ctx, "ghijk", yes); !errors.Is(err, ErrUnknown) {
		t.Errorf("through a link: %v", err)
	}
}

// Nothing is allowed that is not on the disk, and in the audit.
func TestVerdictThatCannotBeWrittenIsRefused(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	l.ask("s1", "abcde")
	inTheWay := l.file("abcde.s1.json.tmp.c2c")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Decide(ctx, "abcde", yes); err == nil || l.one().State != StateOpen {
		t.Errorf("without its file: %v, %+v", err, l.one())
	}
	os.Remove(inTheWay)
	if err := os.Rename(l.file(auditFile), l.file("audit")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(l.file(auditFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Decide(ctx, "abcde", yes); err == nil || l.one().State != StateOpen {
		t.Errorf("without the audit: %v, %+v", err, l.one())
	}
	os.Remove(l.file(auditFile))
	if _, err := l.Decide(ctx, "abcde", yes); err != nil || l.one().State != StateAllowed {
		t.Errorf("afterwards: %v, %+v", err, l.one())
	}
}

func TestAuditIsBoundedAndLogged(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	var logged []string
	l.LogTo(func(_ context.Context, event string, pairs ...string) error {
		d, err := l.other().open(false)
		if err != nil {
			t.Fatal(err)
		}
		defer d.dir.Close()
		lock, err := atomicfile.OpenLocked(d.dir, lockFile)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Release()
		if free, err := lock.Try(); err != nil || !free {
			t.Errorf("the log is written while the requests are locked, %v", err)
		}
		logged = append(logged, event+" "+strings.Join(pairs, " "))
		return errors.New("the disk is full")
	})
	l.ask("s1", "abcde")
	if err := os.WriteFile(l.file(auditFile), make([]byte, maxAudit), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Decide(ctx, strings.Repeat("x\x1b", 1000), Verdict{By: strings.Repeat("é", 1000), Via: "page", Proof: "login"}); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if info, err := os.Stat(l.file(auditFile)); err != nil || info.Size() > 1000 {
		t.Errorf("the new audit: %v, %v", info, err)
	}
	if info, err := os.Stat(l.file(auditFile + ".old")); err != nil || info.Size() != maxAudit {
		t.Errorf("the old audit: %v, %v", info, err)
	}
	want := "permission id abcde session_id s1 alias s1-alias tool Bash verdict  by  via  proof  result asked"
	if len(logged) != 2 || logged[0] != want || len(logged[1]) > 1000 {
		t.Errorf("logged %q", logged)
	}
}

// A process may be stopped while it has the lock.
func TestALockThatIsHeldIsNotWaitedForForEver(t *testing.T) {
	l := newLab(t)
	l.ask("s1", "abcde")
	d, err := l.other().open(false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.dir.Close()
	lock, err := atomicfile.Acquire(t.Context(), d.dir, lockFile)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	l.wait = time.Millisecond
	if _, err := l.Decide(context.Background(), "abcde", yes); !errors.Is(err, atomicfile.ErrLockTimeout) || l.one().State != StateOpen {
		t.Errorf("decided: %v", err)
	}
}

func TestUntilIsTheNextEnd(t *testing.T) {
	at := time.Unix(1000, 0)
	all := []Request{{State: StateOpen, ExpiresAt: 1200}, {State: StateDenied, ExpiresAt: 900}, {State: StateOpen, ExpiresAt: 1000}}
	if got := Until(all); !got.Equal(at) {
		t.Errorf("%v", got)
	}
	if got := Until(all[1:2]); !got.IsZero() {
		t.Errorf("%v", got)
	}
}

// Whatever stands in a request's file, others are listed, and what is listed can be shown.
func FuzzRequestFile(f *testing.F) {
	for _, s := range []string{`{"id":"abcde","session":"s1","tool":"Bash","state":"open","asked_at":1,"expires_at":2}`, `{"state":"allowed"`, "[]", "null", "\x00", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLab(t)
		l.ask("s1", "abcde")
		l.ask("s2", "abcdf")
		if err := os.WriteFile(l.file(fileOf("s1", "abcde")+ending), data, 0o600); err != nil {
			t.Fatal(err)
		}
		err := l.change(t.Context(), func(d *files) error {
			all, err := d.list(t.Context())
			if !slices.ContainsFunc(all, func(r Request) bool { return r.Session == "s2" && r.ID == "abcdf" }) {
				t.Errorf("%q: the other is not in %+v", data, all)
			}
			for _, r := range all {
				if check(r) != nil || !r.State.known() {
					t.Errorf("%q: %+v", data, r)
				}
			}
			_, terr := d.tidy(t.Context())
			return errors.Join(err, terr)
		})
		if err != nil {
			t.Errorf("%q: %v", data, err)
		}
	})
}

func TestAReplyIsAWordAndAnID(t *testing.T) {
	for text, want := range map[string]string{"yes abcde": "abcde true", "Y\tABCDE\n": "abcde true", "n\u2003abcde": "abcde false", "  no  zzzzz  ": "zzzzz false",
		"no abcdl": "", "yes": "", "yes abcde x": "", "yesabcde": "", "ye\u017f abcde": "", "y abcd\xff": "", "yes abcdef": "", "": ""} {
		id, allow, ok := ParseReply(text)
		if got := fmt.Sprint(id, " ", allow); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v", text, got, ok)
		}
	}
}
