package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/relay"
	"c2c/relay/ssh"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake/watch"
)

// asSSH makes the test program act as ssh: it joins its input and output to the relay of the
// destination, which is a home.
const asSSH = "C2C_TEST_AS_SSH"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "daemon" { // a daemon that a test has started: it is never ready
		os.ReadFile(filepath.Join(os.Getenv("HOME"), "ends"))
		os.Exit(0)
	}
	if os.Getenv(asSSH) == "" {
		os.Exit(m.Run())
	}
	to := os.Args[slices.Index(os.Args, "--")+1]
	if os.Getenv(asSSH) == "exchange" {
		getenv := func(name string) string { return map[string]string{"HOME": to}[name] }
		if err := Run(context.Background(), Program{Stdin: os.Stdin, Stdout: os.Stdout, Getenv: getenv, Cwd: to}, []string{"exchange"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	err := join(to)
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// join is Relay.Stdio for a home, but starts no relay.
func join(home string) error {
	r, err := Open(func(name string) string { return map[string]string{"HOME": home}[name] }, true)
	if err != nil {
		return err
	}
	defer r.Close()
	path, release, err := r.socket()
	if err != nil {
		return err
	}
	defer release()
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	return ssh.Stdio(conn, os.Stdin, os.Stdout)
}

// patience is far longer than anything here takes.
const patience = time.Minute

// machine is a host with a relay in this process, and one root or more.
type machine struct {
	t          *testing.T
	name, home string
	skew       time.Duration // of its clock
	r          *Relay
	stop       func()
	roots      map[string]*broker.Broker
}

func (m *machine) getenv(name string) string { return map[string]string{"HOME": m.home}[name] }

func (m *machine) now() time.Time { return time.Now().Add(m.skew) }

// twoMachines makes a laptop that reaches devbox, and pairs them. Each may write to all sessions of
// the other.
func twoMachines(t *testing.T) (laptop, devbox *machine) {
	t.Helper()
	all := machinesAround(t, "devbox", "laptop")
	return all[1], all[0]
}

// machinesAround makes a machine, and others that reach it, and pairs each of them with it.
func machinesAround(t *testing.T, centre string, names ...string) (all []*machine) {
	t.Helper()
	for _, name := range append([]string{centre}, names...) {
		m := &machine{t: t, name: name, home: t.TempDir(), roots: map[string]*broker.Broker{}}
		var err error
		if m.r, err = Open(m.getenv, true); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.end(); m.r.Close() })
		all = append(all, m)
	}
	keys := map[*machine]*relay.Key{}
	for _, m := range all {
		keys[m] = m.key()
	}
	for _, m := range all[1:] {
		m.pair(all[0], keys[all[0]], true)
		all[0].pair(m, keys[m], false)
	}
	return all
}

func (m *machine) key() *relay.Key {
	m.t.Helper()
	key, err := relay.LoadKey(m.t.Context(), m.r.Dir)
	if err != nil {
		m.t.Fatal(err)
	}
	return key
}

func (m *machine) pair(other *machine, key *relay.Key, dials bool) {
	m.t.Helper()
	h := relay.Host{Name: other.name, Carrier: relay.SSH, Projects: []string{relay.AnyName}, Aliases: []string{relay.AnyName}, Key: key.Public()}
	if dials {
		h.Dest = other.home
	}
	if err := m.r.Hosts(m.now).Add(m.t.Context(), h); err != nil {
		m.t.Fatal(err)
	}
}

// project gives a project of the machine, by its name for others, with sessions.
func (m *machine) project(name string, aliases ...string) *broker.Broker {
	m.t.Helper()
	b := m.roots[name]
	if b == nil {
		path := filepath.Join(m.home, "root-"+name)
		cfg := broker.ConfigOf(m.getenv, path, nil)
		cfg.Now, cfg.WantRelay = m.now, nil
		var err error
		if b, err = broker.Open(cfg); err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(func() { b.Close() })
		m.roots[name] = b
		if err := m.r.Hosts(m.now).NameProject(m.t.Context(), relay.NamedProject{Name: name, Root: path}); err != nil {
			m.t.Fatal(err)
		}
	}
	for _, alias := range aliases {
		m.session(b, alias)
	}
	return b
}

func (m *machine) session(b *broker.Broker, alias string) sessions.Session {
	m.t.Helper()
	s, err := b.Register(m.t.Context(), callers.Caller{Explicit: "s-" + alias, Client: "gem"}, alias)
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// run starts the relay.
func (m *machine) run() {
	m.t.Helper()
	program := filepath.Join(m.home, "ssh")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec %s \"$@\"\n", asSSH, os.Args[0]), 0o700); err != nil {
		m.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(m.home, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		h := &Host{Relay: m.r, Getenv: m.getenv, SSH: program, Log: slog.New(slog.NewTextHandler(log, nil)), Now: m.now}
		if err := h.Run(ctx, func(any) {}); err != nil {
			m.t.Errorf("relay of %s: %v", m.name, err)
		}
	})
	m.stop = func() {
		cancel()
		running.Wait()
		log.Close()
		if text, _ := os.ReadFile(filepath.Join(m.home, "log")); m.t.Failed() {
			m.t.Logf("%s:\n%s", m.name, text)
		}
	}
}

// end ends the relay.
func (m *machine) end() {
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
}

// until returns when so is true. It looks when a file of a root of the machine has changed.
func (m *machine) until(b *broker.Broker, what string, so func() bool) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	changes := watch.NewChanges()
	defer changes.Close()
	if err := os.MkdirAll(filepath.Join(b.Root(), "relay"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	done := errors.New("done")
	err := changes.Each(ctx, time.Millisecond, func() ([]string, time.Duration, error) {
		if so() {
			return nil, 0, done
		}
		return []string{b.Root(), filepath.Join(b.Root(), "relay"), filepath.Join(b.Root(), "archive")}, 100 * time.Millisecond, nil
	})
	if !errors.Is(err, done) {
		m.t.Fatalf("%s: it never happened: %s (%v)", m.name, what, err)
	}
}

func (m *machine) send(b *broker.Broker, from, to, text string, more mail.Message) broker.Receipt {
	m.t.Helper()
	more.To, more.Content = to, text
	r, err := b.Send(m.t.Context(), m.session(b, from), more)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// waiting returns the mail that waits for a session, which waits on.
func (m *machine) waiting(b *broker.Broker, alias string) []mail.Message {
	m.t.Helper()
	box, err := b.Mailbox("s-" + alias)
	if err != nil {
		m.t.Fatal(err)
	}
	all, err := box.PeekAll(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// arrives returns the waiting messages of a session when there are so many.
func (m *machine) arrives(b *broker.Broker, alias string, count int) (all []mail.Message) {
	m.t.Helper()
	m.until(b, fmt.Sprintf("%s has %d messages", alias, count), func() bool { all = m.waiting(b, alias); return len(all) >= count })
	if len(all) > count {
		m.t.Errorf("%s has %d messages, want %d", alias, len(all), count)
	}
	return all
}

// reads takes the mail of a session, as a person who reads it.
func (m *machine) reads(b *broker.Broker, alias string) (texts []string) {
	m.t.Helper()
	box, err := b.Mailbox("s-" + alias)
	if err != nil {
		m.t.Fatal(err)
	}
	l, err := box.Lease(m.t.Context(), "poll", 1<<30)
	if err != nil {
		m.t.Fatal(err)
	}
	var handles []string
	for _, one := range l.Messages {
		handles, texts = append(handles, one.Handle()), append(texts, one.Content)
	}
	if err := l.Ack(m.t.Context(), handles...); err != nil {
		m.t.Fatal(err)
	}
	return texts
}

func (m *machine) status(b *broker.Broker, id string) broker.MessageStatus {
	m.t.Helper()
	st, err := b.Status(m.t.Context(), id)
	if err != nil {
		m.t.Fatal(err)
	}
	return st
}

func (m *machine) host(b *broker.Broker, name string) broker.Host {
	m.t.Helper()
	all, err := b.Hosts()
	if err != nil {
		m.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(h broker.Host) bool { return h.Name == name })
	if i < 0 {
		m.t.Fatalf("%s is not among %+v", name, all)
	}
	return all[i]
}

func (h *machine) knows(b *broker.Broker, host string, aliases ...string) bool {
	var got []string
	for _, s := range h.host(b, host).Sessions {
		got = append(got, s.Alias)
	}
	return slices.Equal(got, aliases)
}

func TestSessionsOfAnotherMachineAreListedAsSoonAsBothArePaired(t *testing.T) {
	laptop, devbox := twoMachines(t)
	here, there := laptop.project("site", "amber"), devbox.project("site", "birch")
	laptop.run()
	devbox.run()
	began := time.Now()
	laptop.until(here, "birch is listed", func() bool { return laptop.knows(here, "devbox", "birch") })
	devbox.until(there, "amber is listed", func() bool { return devbox.knows(there, "laptop", "amber") })
	devbox.session(there, "elm")
	laptop.until(here, "a new session is listed", func() bool { return laptop.knows(here, "devbox", "birch", "elm") })
	if _, err := devbox.r.Hosts(time.Now).Allow(t.Context(), "laptop", nil, []string{"elm"}); err != nil {
		t.Fatal(err)
	}
	laptop.until(here, "only those are listed that it may reach", func() bool { return laptop.knows(here, "devbox", "elm") })
	if took := time.Since(began); took > 20*time.Second { // without an event the relay looks once a minute
		t.Errorf("it took %s", took)
	}
}

func TestMailForAProjectThatNobodyHasOpenedThereWaits(t *testing.T) {
	laptop, devbox := twoMachines(t)
	here := laptop.project("site", "amber")
	laptop.run()
	devbox.run()
	sent := laptop.send(here, "amber", "birch@devbox", "one", mail.Message{})
	laptop.until(here, "the laptop knows", func() bool { return laptop.host(here, "devbox").Absent })
	st := laptop.status(here, sent.ID)
	if st.State != sessions.Queued || !strings.Contains(st.Why, "nobody has used c2c in this project there yet") || !strings.Contains(st.Do, "poll-inbox") {
		t.Errorf("%+v", st)
	}
	if r := laptop.send(here, "amber", "birch@devbox", "two", mail.Message{}); !strings.Contains(r.Note, "the message waits until somebody does") {
		t.Errorf("the next one is sent: %+v", r)
	}
	if h := laptop.host(here, "devbox"); h.Waiting != 2 {
		t.Errorf("%+v", h)
	}
	there := devbox.project("site", "birch")
	if all := devbox.arrives(there, "birch", 2); all[0].Content != "one" || all[1].Content != "two" {
		t.Errorf("%+v", all)
	}
	laptop.until(here, "the laptop has the receipts", func() bool { h := laptop.host(here, "devbox"); return h.Waiting == 0 && !h.Absent })
}

func TestAMessageThatIsReadAfterARestartOfTheRelayIsToldAsRead(t *testing.T) {
	laptop, devbox := twoMachines(t)
	here, there := laptop.project("site", "amber"), devbox.project("site", "birch")
	laptop.run()
	devbox.run()
	var ids []string
	for _, text := range []string{"one", "two"} {
		ids = append(ids, laptop.send(here, "amber", "birch@devbox", text, mail.Message{}).ID)
	}
	devbox.arrives(there, "birch", 2)
	devbox.end()
	devbox.reads(there, "birch") // while no relay runs
	devbox.run()
	for _, id := range ids {
		laptop.until(here, "it is told as read", func() bool { return laptop.status(here, id).State == sessions.Read })
	}
	left, err := os.ReadFile(filepath.Join(there.Root(), "relay", followedFile))
	if err != nil || strings.Count(string(left), `"over":true`) != 2 {
		t.Errorf("%s, %v", left, err)
	}
}

func TestAMachineWithAnotherClockKeepsTheTimesOfAMessage(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			laptop, devbox := twoMachines(t)
			devbox.skew = skew
			here, there := laptop.project("site", "amber"), devbox.project("site", "birch")
			laptop.run()
			devbox.run()
			now := time.Now()
			in := func(d time.Duration) float64 { return mail.Seconds(now.Add(d)) }
			outbox, err := here.Mailbox("host-devbox")
			if err != nil {
				t.Fatal(err)
			}
			sent := mail.Message{From: "amber", To: "birch@devbox", ID: mail.NewID(now), Content: "one", Kind: "question", TS: mail.Seconds(now),
				ExpiresAt: in(10 * time.Minute), NotBefore: in(5 * time.Minute), AnswerBy: in(8 * time.Minute)}
			if _, err := outbox.Deliver(t.Context(), sent); err != nil {
				t.Fatal(err)
			}
			m := devbox.arrives(there, "birch", 1)[0]
			for what, got := range map[string][2]float64{
				"ttl":        {m.ExpiresAt, in(skew + 10*time.Minute)},
				"not before": {m.NotBefore, in(skew + 5*time.Minute)},
				"answer by":  {m.AnswerBy, in(skew + 8*time.Minute)},
				"sent":       {m.TS, in(skew)},
			} {
				if d := got[0] - got[1]; d < -30 || d > 30 {
					t.Errorf("%s is %.0f s off", what, d)
				}
			}
			box, err := there.Mailbox("s-birch")
			if err != nil {
				t.Fatal(err)
			}
			if l, err := box.Lease(t.Context(), "poll", 1<<30); err != nil || len(l.Messages) != 0 {
				t.Errorf("it is handed over before its time: %+v, %v", l, err)
			}
		})
	}
}

func TestTwoProjectsWithOneAliasGetTheirOwnMail(t *testing.T) {
	laptop, devbox := twoMachines(t)
	for _, name := range []string{"site", "shop"} {
		laptop.project(name, "amber")
		devbox.project(name, "birch")
	}
	laptop.run()
	devbox.run()
	for i := range 10 {
		for _, name := range []string{"site", "shop"} {
			laptop.send(laptop.roots[name], "amber", "birch@devbox", fmt.Sprint(name, " ", i), mail.Message{})
		}
	}
	for _, name := range []string{"site", "shop"} {
		for i, m := range devbox.arrives(devbox.roots[name], "birch", 10) {
			if want := fmt.Sprint(name, " ", i); m.Content != want || m.From != "amber@laptop" {
				t.Errorf("%q from %s, want %q", m.Content, m.From, want)
			}
		}
	}
}

func TestARefusedMessageHoldsUpNoOther(t *testing.T) {
	laptop, devbox := twoMachines(t)
	here, there := laptop.project("site", "amber"), devbox.project("site", "birch", "elm", "full")
	if _, err := devbox.r.Hosts(time.Now).Allow(t.Context(), "laptop", nil, []string{"birch", "full", "nobody"}); err != nil {
		t.Fatal(err)
	}
	fill(t, there, "full")
	var refused []string
	for i := range 5 {
		laptop.send(here, "amber", "birch@devbox", fmt.Sprint(i), mail.Message{})
		for _, to := range []string{"nobody", "elm", "full"} {
			refused = append(refused, laptop.send(here, "amber", to+"@devbox", to, mail.Message{}).ID)
		}
	}
	laptop.run()
	devbox.run()
	for i, m := range devbox.arrives(there, "birch", 5) {
		if m.Content != fmt.Sprint(i) {
			t.Errorf("message %d is %q", i, m.Content)
		}
	}
	reasons := map[string]string{"nobody@devbox": "no session there has this alias", "elm@devbox": "does not let this one write to it", "full@devbox": "the mailbox of that session is full"}
	laptop.until(here, "all have an end", func() bool { return laptop.host(here, "devbox").Waiting == 0 })
	for _, id := range refused {
		if st := laptop.status(here, id); st.State != sessions.Dead || !strings.Contains(st.Reason, reasons[st.To]) {
			t.Errorf("%s: %s, %q", st.To, st.State, st.Reason)
		}
	}
	if n := len(laptop.waiting(here, "amber")); n != len(refused) {
		t.Errorf("amber got %d notices, want %d", n, len(refused))
	}
}

// One of two persons is enough.
func TestResumeOnOneMachineHandsOverWhatTheOtherHolds(t *testing.T) {
	laptop, devbox := twoMachines(t)
	here, there := laptop.project("site", "amber", "elm"), devbox.project("site", "birch")
	laptop.run()
	devbox.run()
	now := time.Now()
	outbox, err := here.Mailbox("host-devbox")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"amber", "elm"} {
		held := mail.Message{From: from, FromSession: "s-" + from, To: "birch@devbox", ID: mail.NewID(now), Content: from, TS: mail.Seconds(now),
			Held: "s-" + from, NotBefore: mail.Seconds(now.Add(mail.LongestHold)), GuardHops: 51, GuardChain: mail.NewID(now)}
		if _, err := outbox.Deliver(t.Context(), held); err != nil {
			t.Fatal(err)
		}
	}
	devbox.arrives(there, "birch", 2)
	if got := devbox.reads(there, "birch"); got != nil {
		t.Errorf("handed over before: %q", got)
	}
	if _, err := broker.Resume(t.Context(), here.Registry, "amber", "birch@devbox"); err != nil {
		t.Fatal(err)
	}
	devbox.arrives(there, "birch", 3)
	got := devbox.reads(there, "birch")
	if want := []string{"amber", "elm", "The person of amber lets the two of you go on."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := broker.Resume(t.Context(), here.Registry, "amber", "birch@elsewhere"); !errors.As(err, new(*sessions.UnknownAliasError)) {
		t.Errorf("a machine that never got mail: %v", err)
	}
	hub, err := here.Mailbox("host-hub")
	if err == nil {
		_, err = hub.Deliver(t.Context(), mail.Message{From: "amber", FromSession: "s-amber", To: "fir@hub", ID: mail.NewID(now), Content: "hello", TS: mail.Seconds(now)})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"elm@devbox", "fir@hub"} {
		if _, err := broker.Resume(t.Context(), here.Registry, "birch@devbox", other); err == nil || !strings.Contains(err.Error(), "both on other machines") {
			t.Errorf("birch@devbox and %s: %v", other, err)
		}
	}
	if got, err := hub.PeekAll(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("the other machine is told something: %+v %v", got, err)
	}
}

// fill leaves no room in the mailbox of a session.
func fill(t *testing.T, b *broker.Broker, alias string) {
	t.Helper()
	box, err := b.Mailbox("s-" + alias)
	if err != nil {
		t.Fatal(err)
	}
	for count, size := 16, 256<<10; count > 0; {
		var some []mail.Message
		for range count {
			some = append(some, mail.Message{From: "elm", To: alias, ID: mail.NewID(time.Now()), Content: strings.Repeat("x", size)})
		}
		if _, err := box.Deliver(t.Context(), some...); err == nil {
			continue
		}
		if size = size / 16; size == 0 {
			count, size = count/2, 1
		}
	}
}
