package broker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// two gives two projects of one user, front with birch and shop with amber.
type two struct {
	t            *testing.T
	m            machine
	front, shop  *broker.Broker
	birch, amber sessions.Session
}

func newTwo(t *testing.T) *two {
	t.Helper()
	m := newMachine(t)
	p := &two{t: t, m: m}
	p.front, p.birch = p.project("front", "birch")
	p.shop, p.amber = p.project("Shop", "amber")
	return p
}

func (p *two) project(name, alias string) (*broker.Broker, sessions.Session) {
	p.t.Helper()
	b, err := broker.OpenHere(p.m.getenv, p.m.clone(name, "https://h.org/me/"+name), broker.Config{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { b.Close() })
	s, err := b.Register(p.t.Context(), callers.Caller{Explicit: alias, Client: "gem"}, alias)
	if err != nil {
		p.t.Fatal(err)
	}
	return b, s
}

// reads has a session take its mail.
func (p *two) reads(b *broker.Broker, s sessions.Session) []mail.Message {
	p.t.Helper()
	box, err := b.Mailbox(s.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	l, err := box.Lease(p.t.Context(), "poll_inbox", 1<<20)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := l.Ack(p.t.Context(), inbox.Handles(l.Messages)...); err != nil {
		p.t.Fatal(err)
	}
	return l.Messages
}

// looks acts on the deadlines of a project, as a process does that was just started.
func (p *two) looks(b *broker.Broker) {
	p.t.Helper()
	if _, err := broker.NewChecker(b, nil).Look(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// stuck sends a message that waits in the outbox, because amber's mailbox is locked.
func (p *two) stuck(m mail.Message) (r broker.Receipt) {
	p.t.Helper()
	box, err := p.shop.Mailbox(p.amber.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	err = p.shop.Locks.With(p.t.Context(), box.LockName(), func() (err error) {
		brief, end := context.WithTimeout(p.t.Context(), 50*time.Millisecond)
		defer end()
		r, err = p.front.Send(brief, p.birch, m)
		return err
	})
	if err != nil || !strings.Contains(r.Note, "it waits here, and c2c tries again") {
		p.t.Fatalf("%+v %v", r, err)
	}
	return r
}

func (p *two) allow() {
	p.t.Helper()
	if err := broker.AllowProject(p.shop, p.front.Root(), true); err != nil {
		p.t.Fatal(err)
	}
}

func TestAnAgentWritesToAnotherProjectOnlyIfItAllowsThat(t *testing.T) {
	p := newTwo(t)
	ctx := t.Context()
	_, err := p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", Content: "hi"})
	if err == nil || !strings.Contains(err.Error(), "cd "+filepath.Join(p.m.dir, "Shop")+" && c2c project allow front") {
		t.Fatalf("without a permission: %v", err)
	}
	if all := p.reads(p.shop, p.amber); len(all) > 0 {
		t.Errorf("stored: %+v", all)
	}
	p.allow()
	r, err := p.front.Send(ctx, p.birch, mail.Message{To: "Amber@Shop", Kind: "question", Content: "hi"})
	if err != nil || r.Recipient == sessions.Remote {
		t.Fatalf("%+v %v", r, err)
	}
	if st, err := p.front.Status(ctx, r.ID); err != nil || st.State != sessions.Queued || st.Project != "shop" || !strings.Contains(st.Sentence(), "stored in shop at") {
		t.Errorf("queued there: %+v %v", st, err)
	}
	if open, err := broker.Obligations(ctx, p.front.Registry, p.birch, false); err != nil || len(open) != 1 || !open[0].ObservedAt.IsZero() || !strings.HasPrefix(open[0].Why, "not read yet; amber") {
		t.Errorf("owed before it is read: %+v %v", open, err)
	}
	got := p.reads(p.shop, p.amber)
	if open, err := broker.Obligations(ctx, p.front.Registry, p.birch, false); err != nil || len(open) != 1 || open[0].ObservedAt.IsZero() {
		t.Errorf("owed after it was read: %+v %v", open, err)
	}
	if len(got) != 1 || got[0].From != "birch@front" || got[0].ID != r.ID || mail.By(got[0]) != mail.ByClaim {
		t.Fatalf("%+v", got)
	}
	if st, err := p.front.Status(ctx, r.ID); err != nil || st.State != sessions.Handed && st.State != sessions.Read {
		t.Errorf("handed there: %+v %v", st, err)
	}
	// The answer needs no permission, whichever way it is named. A new message does.
	for _, to := range []string{"", "birch@front"} {
		m := mail.Message{To: to, Content: "yes", InReplyTo: mail.ShortID(r.ID)}
		var a broker.Receipt
		if to == "" {
			answered, rerr := p.shop.Received(ctx, p.amber, r.ID)
			if rerr != nil {
				t.Fatal(rerr)
			}
			a, err = p.shop.Reply(ctx, p.amber, answered, m)
		} else {
			a, err = p.shop.Send(ctx, p.amber, m)
		}
		if back := p.reads(p.front, p.birch); err != nil || len(back) != 1 || back[0].From != "amber@shop" || back[0].InReplyTo != r.ID || back[0].ID != a.ID {
			t.Errorf("answer to %q: %+v %v", to, back, err)
		}
	}
	if open, err := broker.Obligations(ctx, p.front.Registry, p.birch, false); err != nil || len(open) != 0 {
		t.Errorf("the question is still open: %+v %v", open, err)
	}
	if st, err := p.front.ReadStats(ctx, time.Time{}); err != nil || st.Open != 0 || st.Over[owed.Answered] != 1 || st.Total.Acknowledged != 1 {
		t.Errorf("stats: %+v %v", st.Stats, err)
	}
	if _, err = p.shop.Send(ctx, p.amber, mail.Message{To: "birch@front", Content: "new"}); err == nil || !strings.Contains(err.Error(), "takes no messages") {
		t.Errorf("a new message: %v", err)
	}
	if err := broker.AllowProject(p.shop, p.front.Root(), false); err != nil {
		t.Fatal(err)
	}
	if _, err = p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", Content: "hi"}); err == nil || !strings.Contains(err.Error(), "takes no messages") {
		t.Errorf("after the permission was taken back: %v", err)
	}
}

// One question would otherwise let all agents of a project write to all of the other one.
func TestAnAnswerGoesOnlyToTheSessionThatAsked(t *testing.T) {
	p := newTwo(t)
	ctx := t.Context()
	oak, err := p.front.Register(ctx, callers.Caller{Explicit: "oak", Client: "gem"}, "oak")
	if err != nil {
		t.Fatal(err)
	}
	p.allow()
	asked, err := p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", Kind: "question", Content: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.shop.Send(ctx, p.amber, mail.Message{To: "oak@front", Content: "and you?", InReplyTo: asked.ID})
	if err == nil || !strings.Contains(err.Error(), "takes no messages from agents") {
		t.Errorf("to a session that has not asked: %v", err)
	}
	if got := p.reads(p.front, oak); len(got) > 0 {
		t.Errorf("stored: %+v", got)
	}
	if _, err := p.front.Register(ctx, callers.Caller{Explicit: "birch", Client: "gem"}, "fern"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.shop.Send(ctx, p.amber, mail.Message{To: "fern@front", Content: "yes", InReplyTo: asked.ID}); err != nil {
		t.Errorf("to the session that has asked, under its new name: %v", err)
	}
}

func TestWhatIsNoSessionOfAnotherProjectIsRefused(t *testing.T) {
	p := newTwo(t)
	p.allow()
	for to, want := range map[string]string{
		"all@shop":    "all is everybody in this project",
		"nobody@shop": `no such alias "nobody@shop"`,
		"amber@none":  `no host "none"`,
		"amber@front": "front is this project: write to amber",
	} {
		if _, err := p.front.Send(t.Context(), p.birch, mail.Message{To: to, Content: "hi"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("to %s: %v", to, err)
		}
	}
	if err := broker.CheckHost(p.front, "shop"); err == nil || !strings.Contains(err.Error(), "a room is in one project") {
		t.Errorf("a room: %v", err)
	}
}

func TestProjectsOfOneNameAreListed(t *testing.T) {
	p := newTwo(t)
	p.project("other/shop", "coral")
	p.allow()
	_, err := p.front.Send(t.Context(), p.birch, mail.Message{To: "amber@shop", Content: "hi"})
	if id := project.ID(p.shop.Root()); err != nil { // Shop and shop differ: the folder that is spelled so is meant
		if !strings.Contains(err.Error(), "shop takes no messages") {
			t.Fatal(err)
		}
		if _, err = p.front.Send(t.Context(), p.birch, mail.Message{To: "amber@" + id, Content: "hi"}); err != nil {
			t.Errorf("by its id: %v", err)
		}
	}
	p.project("third/shop", "coral")
	_, err = p.front.Send(t.Context(), p.birch, mail.Message{To: "amber@shop", Content: "hi"})
	if err == nil || !strings.Contains(err.Error(), `several projects are called "shop": amber@`) || !strings.Contains(err.Error(), filepath.Join("third", "shop")) {
		t.Errorf("two folders of one name: %v", err)
	}
}

// Shop and shop, or foo_bar and foo-bar, are spelled alike in an address. It may mean only the
// folder that is spelled so.
func TestAnAddressMeansTheProjectThatShowsIt(t *testing.T) {
	p := newTwo(t)
	if got := p.shop.Label(); got != "shop" {
		t.Errorf("the only Shop is %q", got)
	}
	other, _ := p.project("other/shop", "coral")
	if got, want := p.shop.Label(), project.ID(p.shop.Root()); got != want {
		t.Errorf("Shop is %q, want %q", got, want)
	}
	if got := other.Label(); got != "shop" {
		t.Errorf("shop is %q", got)
	}
}

func TestAMachineComesBeforeAProject(t *testing.T) {
	p := newTwo(t)
	cfg := broker.ConfigOf(p.m.getenv, p.front.Root(), nil)
	cfg.Hosts, cfg.WantRelay = func() ([]string, error) { return []string{"shop"}, nil }, func() error { return nil }
	b, err := broker.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r, err := b.Send(t.Context(), p.birch, mail.Message{To: "amber@shop", Content: "hi"})
	if want := "shop is that machine here; the project of this name is amber@" + project.ID(p.shop.Root()); err != nil || r.Host != "shop" || !strings.Contains(r.Note, want) {
		t.Errorf("%+v %v", r, err)
	}
}

// Whenever the sender is killed, its message is carried later, once and in its order.
func TestMailForAnotherProjectSurvivesAKill(t *testing.T) {
	p := newTwo(t)
	p.allow()
	ctx := t.Context()
	lock, err := p.shop.Mailbox(p.amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	err = p.shop.Locks.With(ctx, lock.LockName(), func() error { // the mailbox there is locked: the sender cannot carry
		for range 2 {
			brief, end := context.WithTimeout(ctx, 50*time.Millisecond)
			r, err := p.front.Send(brief, p.birch, mail.Message{To: "amber@shop", Content: "hi"})
			end()
			if err != nil || !strings.Contains(r.Note, "it waits here, and c2c tries again") {
				t.Errorf("%+v %v", r, err)
			}
			ids = append(ids, r.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := p.front.Status(ctx, ids[0]); err != nil || st.State != sessions.Queued || !strings.Contains(st.Why, "it waits here") {
		t.Errorf("%+v %v", st, err)
	}
	// A process stores the first one there, and is killed before it has acknowledged it.
	out, err := p.front.Mailbox("host-p." + project.ID(p.shop.Root()))
	if err != nil {
		t.Fatal(err)
	}
	l, err := out.LeaseAll(ctx, inbox.ByRelay, 1)
	if err != nil || len(l.Messages) == 0 {
		t.Fatal(l, err)
	}
	there := l.Messages[0]
	there.From, there.FromSession = "birch@front", mail.ProjectSession(project.ID(p.front.Root()), there.FromSession, "birch")
	if _, err := broker.Receive(ctx, p.shop, "amber", []mail.Message{there}, true); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p.looks(p.front)
	}
	got := p.reads(p.shop, p.amber)
	if len(got) != 2 || got[0].ID != ids[0] || got[1].ID != ids[1] {
		t.Errorf("%+v", got)
	}
}

// What c2c has to tell a sender of another project, and a person's order to go on, come through the
// outbox, too.
func TestNoticesGoToAnotherProject(t *testing.T) {
	p := newTwo(t)
	p.allow()
	ctx := t.Context()
	if _, err := p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", Content: "hi"}); err != nil {
		t.Fatal(err)
	}
	rows, err := p.shop.Rows(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := owed.TellSender(ctx, p.shop.Registry, p.shop.Authors(rows), owed.News{Message: p.reads(p.shop, p.amber)[0], Reason: owed.Unread}); err != nil {
			t.Fatal(err)
		}
		if !owed.MayBeDue(p.shop.Registry) {
			t.Error("no command carries the notice")
		}
		p.looks(p.shop)
		got := p.reads(p.front, p.birch)
		if len(got) != 1 || got[0].From != "c2c-system@shop" || got[0].Kind != mail.KindSystem || mail.By(got[0]) != mail.ByProcess {
			t.Errorf("%+v", got)
		}
		if _, err := p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", Content: "again"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := broker.Resume(ctx, p.front.Registry, "birch", "amber@shop"); err != nil {
		t.Fatal(err)
	}
	p.looks(p.front)
	if got := p.reads(p.shop, p.amber); len(got) != 2 || got[1].Kind != mail.KindSystem {
		t.Errorf("%+v", got)
	}
}

// The root of front was merged into another one: that needs a permission of its own, and c2c does
// not say that it has one.
func TestAPermissionOfAMergedRootIsNotShown(t *testing.T) {
	p := newTwo(t)
	p.allow()
	if all, err := broker.Allowed(p.shop); err != nil || !slices.Equal(all, []string{"front"}) {
		t.Fatalf("%q %v", all, err)
	}
	old := filepath.Dir(p.front.Root())
	if err := os.Rename(old, filepath.Join(filepath.Dir(old), "0123456789ab")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("0123456789ab", old); err != nil {
		t.Fatal(err)
	}
	if all, err := broker.Allowed(p.shop); err != nil || len(all) > 0 {
		t.Errorf("%q %v", all, err)
	}
}

func TestAMessageToAnotherProjectThatIsSentAgainIsInNoOtherPlace(t *testing.T) {
	p := newTwo(t)
	p.allow()
	var first broker.Receipt
	for i := range 2 {
		r, err := p.front.Send(t.Context(), p.birch, mail.Message{To: "amber@shop", ID: "m-1", Content: "hi"})
		if err != nil || r.Duplicate != (i == 1) {
			t.Fatalf("%+v %v", r, err)
		}
		if i == 0 {
			first = r
		} else if r.Note != first.Note || r.Recipient != first.Recipient {
			t.Errorf("%+v, want as at first %+v", r, first)
		}
	}
	if got := p.reads(p.shop, p.amber); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestASenderInAnotherProjectIsToldOnceThatNoAnswerCame(t *testing.T) {
	p := newTwo(t)
	p.allow()
	ctx := t.Context()
	now := time.Now()
	later := func() time.Time { return now.Add(2 * time.Minute) }
	if _, err := p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", Kind: "question", Content: "green?", AnswerBy: mail.Seconds(now.Add(time.Minute))}); err != nil {
		t.Fatal(err)
	}
	p.reads(p.shop, p.amber)
	for _, root := range []string{p.shop.Root(), p.front.Root()} {
		cfg := broker.ConfigOf(p.m.getenv, root, nil)
		cfg.Now = later
		b, err := broker.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		p.looks(b)
	}
	if got := p.reads(p.front, p.birch); len(got) != 1 || !strings.Contains(got[0].Content, "amber@shop has not answered") {
		t.Errorf("%+v", got)
	}
}

func TestMailForAProjectThatIsGoneIsNotTaken(t *testing.T) {
	p := newTwo(t)
	p.allow()
	if _, err := p.front.Send(t.Context(), p.birch, mail.Message{To: "amber@shop", Content: "hi"}); err != nil {
		t.Fatal(err)
	}
	got := p.reads(p.shop, p.amber)
	if err := os.RemoveAll(p.front.Root()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.shop.Reply(t.Context(), p.amber, got[0], mail.Message{Content: "yes"}); err == nil || !strings.Contains(err.Error(), "is not there any more") {
		t.Errorf("%v", err)
	}
}

// Its receiver has gone meanwhile, or the whole project: the sender is told once, and owes nobody an
// answer.
func TestMailThatAnotherProjectRefusesIsADeadLetter(t *testing.T) {
	for what, gone := range map[string]struct{ file, why string }{"session": {"registry.json", "no such alias"}, "project": {"..", "the project is not there any more"}} {
		t.Run(what, func(t *testing.T) {
			p := newTwo(t)
			p.allow()
			ctx := t.Context()
			r := p.stuck(mail.Message{To: "amber@shop", Kind: "question", Content: "hi"})
			id := "host-p." + project.ID(p.shop.Root())
			if err := os.RemoveAll(filepath.Join(p.shop.Root(), gone.file)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				p.looks(p.front)
			}
			st, err := p.front.Status(ctx, r.ID)
			if err != nil || st.State != sessions.Dead || st.SessionID != id {
				t.Errorf("%+v %v", st, err)
			}
			sent, err := p.front.Outbox(ctx, p.birch, 10)
			if err != nil || len(sent) != 1 || sent[0].Status.State != sessions.Dead {
				t.Errorf("%+v %v", sent, err)
			}
			if got := p.reads(p.front, p.birch); len(got) != 1 || got[0].From != sessions.SystemAlias || !strings.Contains(got[0].Content, gone.why) {
				t.Errorf("birch is told %+v", got)
			}
			if open, err := broker.Obligations(ctx, p.front.Registry, p.birch, false); err != nil || len(open) > 0 {
				t.Errorf("the question is still open: %+v %v", open, err)
			}
		})
	}
}

// A sender that is killed before the carry, or that cannot carry, makes the next command look at
// once. While the other mailbox is locked, later commands do not wait for it.
func TestMailForAnotherProjectIsDueAtOnce(t *testing.T) {
	p := newTwo(t)
	p.allow()
	p.looks(p.front)
	if owed.MayBeDue(p.front.Registry) {
		t.Fatal("it is due without mail")
	}
	p.stuck(mail.Message{To: "amber@shop", Content: "hi"})
	if !owed.MayBeDue(p.front.Registry) {
		t.Error("no command looks")
	}
	box, err := p.shop.Mailbox(p.amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	err = p.shop.Locks.With(t.Context(), box.LockName(), func() error {
		return broker.NewChecker(p.front, nil).LookOnce(t.Context())
	})
	if left := p.front.Due.UntilLook(); err != nil || left == 0 || left > time.Minute {
		t.Errorf("the next command that looks comes after %v, %v", left, err)
	}
	p.looks(p.front)
	if got := p.reads(p.shop, p.amber); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// The sender is told at once, and the message is in no place: it may send it again.
func TestASendToAFullMailboxOfAnotherProjectFails(t *testing.T) {
	p := newTwo(t)
	p.allow()
	ctx := t.Context()
	box, err := p.shop.Mailbox(p.amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Deliver(ctx, slices.Repeat([]mail.Message{{From: "coral", To: "amber", Content: "x"}}, 20_000)...); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", ID: "m-1", Kind: "question", Content: "hi"})
		if !errors.Is(err, inbox.ErrFull) || !strings.HasPrefix(err.Error(), `send to "amber@shop": mailbox is full: `) {
			t.Errorf("%v", err)
		}
	}
	p.looks(p.front)
	if _, err := p.front.Status(ctx, "m-1"); !errors.Is(err, broker.ErrNoMessage) {
		t.Errorf("%v", err)
	}
	if got := p.reads(p.front, p.birch); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	if open, err := broker.Obligations(ctx, p.front.Registry, p.birch, false); err != nil || len(open) > 0 {
		t.Errorf("the question is open: %+v %v", open, err)
	}
	for len(p.reads(p.shop, p.amber)) > 0 {
	}
	if _, err := p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", ID: "m-1", Kind: "question", Content: "hi"}); err != nil {
		t.Error(err)
	}
	if got := p.reads(p.shop, p.amber); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestMailThatWaitsWhileAPersonDeniesItDoesNotArrive(t *testing.T) {
	p := newTwo(t)
	p.allow()
	r := p.stuck(mail.Message{To: "amber@shop", Kind: "question", Content: "hi"})
	if err := broker.AllowProject(p.shop, p.front.Root(), false); err != nil {
		t.Fatal(err)
	}
	p.looks(p.front)
	if got := p.reads(p.shop, p.amber); len(got) > 0 {
		t.Errorf("amber has %+v", got)
	}
	if st, err := p.front.Status(t.Context(), r.ID); err != nil || st.State != sessions.Dead {
		t.Errorf("%+v %v", st, err)
	}
	if got := p.reads(p.front, p.birch); len(got) != 1 || !strings.Contains(got[0].Content, "takes no messages from agents of front") {
		t.Errorf("birch is told %+v", got)
	}
}

func TestMailForAnotherProjectThatExpiresWhileItWaitsIsToldOnce(t *testing.T) {
	p := newTwo(t)
	p.allow()
	now := time.Now()
	p.stuck(mail.Message{To: "amber@shop", Content: "hi", ExpiresAt: mail.Seconds(now.Add(time.Minute))})
	cfg := broker.ConfigOf(p.m.getenv, p.front.Root(), nil)
	cfg.Now = func() time.Time { return now.Add(2 * time.Minute) }
	later, err := broker.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	for range 2 {
		p.looks(later)
	}
	if got := p.reads(p.front, p.birch); len(got) != 1 || !strings.Contains(got[0].Content, "it had expired") {
		t.Errorf("birch is told %+v", got)
	}
	if got := p.reads(p.shop, p.amber); len(got) > 0 {
		t.Errorf("amber has %+v", got)
	}
}

// One outbox may have two messages with one id of their sender, for two receivers.
func TestARefusedMessageIsNotTakenForAnotherOneWithItsID(t *testing.T) {
	p := newTwo(t)
	p.allow()
	ctx := t.Context()
	coral, err := p.shop.Register(ctx, callers.Caller{Explicit: "coral", Client: "gem"}, "coral")
	if err != nil {
		t.Fatal(err)
	}
	p.stuck(mail.Message{To: "amber@shop", ID: "m-1", Content: "hi"})
	if err := os.Mkdir(filepath.Join(p.shop.Root(), p.amber.ID+".inbox.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.front.Send(ctx, p.birch, mail.Message{To: "coral@shop", ID: "m-1", Content: "hi"}); err != nil {
		t.Error(err)
	}
	if got := p.reads(p.shop, coral); len(got) != 1 {
		t.Errorf("coral has %+v", got)
	}
	if got := p.reads(p.front, p.birch); len(got) != 1 || !strings.Contains(got[0].Content, "blocked") {
		t.Errorf("birch is told %+v", got)
	}
}

// A suspended process has the mailbox locked for days.
func TestTheStatusDoesNotWaitForALockedMailboxOfAnotherProject(t *testing.T) {
	t.Parallel()
	p := newTwo(t)
	p.allow()
	ctx := t.Context()
	r, err := p.front.Send(ctx, p.birch, mail.Message{To: "amber@shop", Content: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	box, err := p.shop.Mailbox(p.amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	err = p.shop.Locks.With(ctx, box.LockName(), func() error {
		st, err := p.front.Status(ctx, r.ID)
		if st.Project != "shop" || st.StoredThere.IsZero() || st.Why == "" {
			t.Errorf("%+v", st)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Another message that is carried with it has to wait, but this one is gone.
func TestARefusedSendFailsThoughOtherMailOfTheOutboxWaits(t *testing.T) {
	p := newTwo(t)
	p.allow()
	ctx := t.Context()
	coral, err := p.shop.Register(ctx, callers.Caller{Explicit: "coral", Client: "gem"}, "coral")
	if err != nil {
		t.Fatal(err)
	}
	amber, err := p.shop.Mailbox(p.amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	there, err := p.shop.Mailbox(coral.ID)
	if err != nil {
		t.Fatal(err)
	}
	p.stuck(mail.Message{To: "amber@shop", ID: "m-1", Content: "hi"})
	p.stuck(mail.Message{To: "coral@shop", ID: "m-2", Content: "hi"})
	if _, err := amber.Deliver(ctx, slices.Repeat([]mail.Message{{From: "coral", To: "amber", Content: "x"}}, 20_000)...); err != nil {
		t.Fatal(err)
	}
	err = p.shop.Locks.With(ctx, there.LockName(), func() error {
		brief, end := context.WithTimeout(ctx, 50*time.Millisecond)
		defer end()
		r, err := p.front.Send(brief, p.birch, mail.Message{To: "amber@shop", ID: "m-1", Content: "hi"})
		if !errors.Is(err, inbox.ErrFull) {
			t.Errorf("%+v %v", r, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.looks(p.front)
	if got := p.reads(p.shop, coral); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
