package relay

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/relay"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake/watch"
)

// joins makes a session a member of a room, and waits until it is one.
func (m *machine) joins(b *broker.Broker, alias, room string) {
	m.t.Helper()
	if _, err := rooms.Join(m.t.Context(), b, m.session(b, alias), room, true); err != nil {
		m.t.Fatal(err)
	}
	m.until(b, alias+" is in "+room, func() bool { return slices.Contains(m.members(b, room), alias) })
}

// members returns the aliases of a room; none if there is no such room.
func (m *machine) members(b *broker.Broker, room string) (aliases []string) {
	m.t.Helper()
	r, err := rooms.StoreOf(b.Registry).Open(room)
	if errors.Is(err, rooms.ErrNoRoom) {
		return nil
	}
	if err != nil {
		m.t.Fatal(err)
	}
	defer r.Close()
	all, err := r.Members()
	if err != nil {
		m.t.Fatal(err)
	}
	for _, one := range all {
		aliases = append(aliases, one.Alias)
	}
	return aliases
}

func (m *machine) post(b *broker.Broker, alias, room, text string, more mail.Message) rooms.Receipt {
	m.t.Helper()
	more.Content = text
	r, err := rooms.Publish(m.t.Context(), b, m.of(b, alias), rooms.Draft{Room: room, Message: more})
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// of returns the session that has an alias.
func (m *machine) of(b *broker.Broker, alias string) sessions.Session {
	m.t.Helper()
	rows, err := b.Rows(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return b.Session(b.Receiver(rows, alias))
}

// posts returns the texts in a room's history, each with its author.
func (m *machine) posts(b *broker.Broker, room string) (texts []string) {
	m.t.Helper()
	r, err := rooms.StoreOf(b.Registry).Open(room)
	if err != nil {
		return nil
	}
	defer r.Close()
	all, err := r.Last(0, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, p := range all {
		texts = append(texts, p.From+": "+p.Content)
	}
	return texts
}

func (m *machine) hasPosts(b *broker.Broker, room string, want ...string) {
	m.t.Helper()
	var got []string
	m.until(b, "the posts are in "+room, func() bool { got = m.posts(b, room); return len(got) >= len(want) })
	if !slices.Equal(got, want) {
		m.t.Errorf("%s: the posts are %q, want %q", m.name, got, want)
	}
}

// news returns what is new to a session in its rooms, oldest first, and records that it has seen
// it.
func (m *machine) news(b *broker.Broker, alias string) (texts []string) {
	m.t.Helper()
	rows, err := b.Rows(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	n, err := rooms.NewsFor(m.t.Context(), b.Registry, b.Session(rows[sessions.FindSID(rows, "s-"+alias)]), false)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, r := range n.Rooms {
		for _, p := range slices.Backward(r.Posts) {
			texts = append(texts, p.Content)
		}
	}
	if err := n.Seen(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	return texts
}

func TestARoomHasMembersOnThreeMachines(t *testing.T) {
	all := machinesAround(t, "devbox", "laptop", "tablet")
	devbox, laptop, tablet := all[0], all[1], all[2]
	home, here, third := devbox.project("site", "amber", "elm"), laptop.project("site", "birch", "cedar"), tablet.project("site", "fir")
	for _, m := range all {
		m.run()
	}
	devbox.joins(home, "amber", "review")
	devbox.joins(home, "elm", "review")
	devbox.post(home, "amber", "review", "older", mail.Message{})
	laptop.joins(here, "birch", "review@devbox")
	laptop.joins(here, "cedar", "review@devbox")
	tablet.joins(third, "fir", "review@devbox")
	if got := laptop.news(here, "birch"); got != nil {
		t.Errorf("a late member has %q as news", got)
	}
	laptop.until(here, "all members are listed", func() bool {
		return slices.Equal(laptop.members(here, "review@devbox"), []string{"amber@devbox", "elm@devbox", "birch", "cedar", "fir.tablet@devbox"})
	})

	// A mention of a member on another machine wakes it, and nobody else.
	r := devbox.post(home, "amber", "review", "@birch, look", mail.Message{})
	if got := r.String(); !strings.HasPrefix(got, "stored for 4, wakes 0, goes to 1 (birch@laptop); ") {
		t.Error(got)
	}
	got := laptop.arrives(here, "birch", 1)
	if m := got[0]; m.From != "amber@devbox" || m.To != "birch#review@devbox" || m.KnownBy != mail.ByHost || m.ID != r.ID || m.Content != "@birch, look" {
		t.Errorf("%+v", m)
	}

	// Its answer goes to the home, which wakes the author; the others have it in their digests. The
	// message that wakes may be there before the copy has the post.
	laptop.hasPosts(here, "review@devbox", "amber@devbox: @birch, look")
	answer, err := rooms.ReplyToPost(t.Context(), here, laptop.session(here, "birch"), got[0], rooms.Draft{Message: mail.Message{Content: "done"}})
	if err != nil || answer.Host != "devbox" || !strings.HasPrefix(answer.String(), "on its way to devbox, not in the room yet, goes to 1 (amber@devbox); ") {
		t.Errorf("%+v %v", answer, err)
	}
	m := devbox.arrives(home, "amber", 1)[0]
	if m.From != "birch@laptop" || m.To != "amber#review" || m.InReplyTo != r.ID || m.KnownBy != mail.ByHost || m.ID != answer.ID {
		t.Errorf("%+v", m)
	}
	laptop.hasPosts(here, "review@devbox", "amber@devbox: @birch, look", "birch: done")
	tablet.hasPosts(third, "review@devbox", "amber@devbox: @birch, look", "birch.laptop@devbox: done")
	devbox.hasPosts(home, "review", "amber: older", "amber: @birch, look", "birch@laptop: done")
	for _, c := range []struct {
		m     *machine
		b     *broker.Broker
		alias string
		want  []string
	}{
		{laptop, here, "birch", nil}, {laptop, here, "cedar", []string{"@birch, look", "done"}}, {tablet, third, "fir", []string{"@birch, look", "done"}},
		{devbox, home, "elm", []string{"older", "@birch, look", "done"}}, {devbox, home, "amber", nil},
	} {
		if got := c.m.news(c.b, c.alias); !slices.Equal(got, c.want) {
			t.Errorf("%s has the news %q, want %q", c.alias, got, c.want)
		}
	}

	// From a machine to a third one, by the name that the author sees.
	tablet.post(third, "fir", "review@devbox", "@birch.laptop: and this?", mail.Message{})
	if m := laptop.arrives(here, "birch", 2)[1]; m.From != "fir.tablet@devbox" || m.To != "birch#review@devbox" {
		t.Errorf("%+v", m)
	}

	// A member leaves, and the room is closed.
	if err := rooms.Leave(t.Context(), third, tablet.session(third, "fir"), "review@devbox"); err != nil {
		t.Fatal(err)
	}
	devbox.until(home, "fir has left", func() bool { return !slices.Contains(devbox.members(home, "review"), "fir@tablet") })
	if _, err := rooms.ArchiveRoom(t.Context(), home, "review"); err != nil {
		t.Fatal(err)
	}
	laptop.until(here, "the copy is closed", func() bool { return laptop.members(here, "review@devbox") == nil })
}

// One post is one message to each machine, however many members it has there.
func TestAPostGoesOnceToEachMachine(t *testing.T) {
	laptop, devbox := twoMachines(t)
	home, here := devbox.project("site", "amber"), laptop.project("site", "birch", "cedar", "elm", "fir")
	laptop.run()
	devbox.run()
	devbox.joins(home, "amber", "review")
	for _, alias := range []string{"birch", "cedar", "elm", "fir"} {
		laptop.joins(here, alias, "review@devbox")
	}
	for range 10 { // 40 wakes: the room is stopped at 50
		devbox.post(home, "amber", "review", "@birch @cedar @elm @fir look", mail.Message{})
	}
	for _, alias := range []string{"birch", "cedar", "elm", "fir"} {
		laptop.arrives(here, alias, 10)
	}
	box, err := home.Mailbox("host-laptop")
	if err != nil {
		t.Fatal(err)
	}
	count := func() (copies int) {
		sent, err := box.Archive().History(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range sent {
			if op, err := rooms.ParseRoomOp(one.Message); err == nil && op.Do == rooms.DoCopy {
				copies++
			}
		}
		return copies
	}
	devbox.until(home, "all posts have receipts", func() bool { return count() >= 10 && len(devbox.waitingFor(home, "laptop")) == 0 })
	if got := count(); got != 10 {
		t.Errorf("%d messages went to the other machine for 10 posts", got)
	}
}

// waitingFor returns the mail that waits in the outbox for a host.
func (m *machine) waitingFor(b *broker.Broker, host string) []mail.Message {
	m.t.Helper()
	box, err := b.Mailbox("host-" + host)
	if err != nil {
		m.t.Fatal(err)
	}
	all, err := box.PeekAll(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

func TestARefusedWishToJoinIsTold(t *testing.T) {
	laptop, devbox := twoMachines(t)
	home, here := devbox.project("site", "amber"), laptop.project("site", "birch", "cedar")
	laptop.run()
	devbox.run()
	st := rooms.StoreOf(home.Registry)
	r, err := st.Create(t.Context(), "secret", "amber", true)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	devbox.joins(home, "amber", "secret")
	for _, name := range []string{"secret@devbox", "nowhere@devbox"} {
		if _, err := rooms.Join(t.Context(), here, laptop.session(here, "birch"), name, false); err != nil {
			t.Fatal(err)
		}
	}
	notices := laptop.arrives(here, "birch", 2)
	for i, want := range []string{"was not invited", "no such room"} {
		if !strings.Contains(notices[i].Content, want) {
			t.Errorf("%q", notices[i].Content)
		}
	}
	for _, name := range []string{"secret@devbox", "nowhere@devbox"} {
		laptop.until(here, "there is no copy", func() bool {
			_, err := rooms.StoreOf(here.Registry).Open(name)
			return errors.Is(err, rooms.ErrNoRoom)
		})
	}
	if _, _, err := rooms.Invite(t.Context(), home, devbox.session(home, "amber"), "secret", "cedar@laptop"); err != nil {
		t.Fatal(err)
	}
	if m := laptop.arrives(here, "cedar", 1)[0]; !strings.Contains(m.Content, "c2c rooms join secret@HOST") || m.From != "amber@devbox" {
		t.Errorf("%+v", m)
	}
	laptop.joins(here, "cedar", "secret@devbox")
}

func TestAMachineThatMayReachOnlySomeSessionsJoinsOnlyTheRoomsInItsList(t *testing.T) {
	laptop, devbox := twoMachines(t)
	home, here := devbox.project("site", "amber"), laptop.project("site", "birch")
	laptop.run()
	devbox.run()
	devbox.joins(home, "amber", "review")
	allow := func(aliases ...string) {
		t.Helper()
		if _, err := devbox.r.Hosts(devbox.now).Allow(t.Context(), "laptop", nil, aliases); err != nil {
			t.Fatal(err)
		}
	}
	allow("amber")
	if _, err := rooms.Join(t.Context(), here, laptop.session(here, "birch"), "review@devbox", false); err != nil {
		t.Fatal(err)
	}
	if got := laptop.arrives(here, "birch", 1)[0].Content; !strings.Contains(got, "c2c relay allow") {
		t.Errorf("%q", got)
	}
	allow("amber", "#review")
	laptop.joins(here, "birch", "review@devbox")
	allow("amber")
	devbox.until(home, "birch is no member", func() bool { return slices.Equal(devbox.members(home, "review"), []string{"amber"}) })
	laptop.until(here, "its copy is closed", func() bool { return laptop.members(here, "review@devbox") == nil })
}

// What becomes of a mention is told to its author as of any message for another machine.
func TestAMentionOnAnotherMachineHasAStatus(t *testing.T) {
	laptop, devbox := twoMachines(t)
	home, here := devbox.project("site", "amber"), laptop.project("site", "birch", "cedar")
	laptop.run()
	devbox.run()
	devbox.joins(home, "amber", "review")
	laptop.joins(here, "birch", "review@devbox")
	laptop.joins(here, "cedar", "review@devbox")
	one := devbox.post(home, "amber", "review", "@birch look", mail.Message{Kind: "question"})
	both := devbox.post(home, "amber", "review", "@birch @cedar look", mail.Message{})
	laptop.arrives(here, "birch", 2)
	laptop.arrives(here, "cedar", 1)
	laptop.reads(here, "birch")
	devbox.until(home, "devbox knows that birch has read it", func() bool { return devbox.status(home, one.ID).State == sessions.Read })
	if sent, err := home.Outbox(t.Context(), devbox.of(home, "amber"), 10); err != nil || len(sent) != 0 {
		t.Errorf("what the relay sends is in the outbox of the author: %+v %v", sent, err)
	}
	if got := devbox.status(home, both.ID).State; got != sessions.Queued { // cedar has not read it
		t.Errorf("what two sessions got is %q", got)
	}
	if _, err := here.Register(t.Context(), callers.Caller{Explicit: "s-birch", Client: "gem"}, "beech"); err != nil { // others see its name with its next post
		t.Fatal(err)
	}
	answer := laptop.post(here, "beech", "review@devbox", "done", mail.Message{InReplyTo: one.ID})
	laptop.until(here, "the answer is at its room", func() bool { return !laptop.status(here, answer.ID).StoredThere.IsZero() })
	devbox.until(home, "the room has its new name", func() bool { return slices.Contains(devbox.members(home, "review"), "beech@laptop") })
}

func TestAPostThatDoesNotRingIsNoMessageToAnotherMachine(t *testing.T) {
	laptop, devbox := twoMachines(t)
	home, here := devbox.project("site", "amber", "elm"), laptop.project("site", "birch")
	laptop.run()
	devbox.run()
	devbox.joins(home, "amber", "review")
	devbox.joins(home, "elm", "review")
	laptop.joins(here, "birch", "review@devbox")
	devbox.post(home, "amber", "review", "@birch @elm later", mail.Message{Deferrable: true})
	laptop.post(here, "birch", "review@devbox", "@amber later", mail.Message{Deferrable: true})
	devbox.hasPosts(home, "review", "amber: @birch @elm later", "birch@laptop: @amber later")
	laptop.hasPosts(here, "review@devbox", "amber@devbox: @birch @elm later", "birch: @amber later")
	if got := laptop.waiting(here, "birch"); got != nil {
		t.Errorf("%+v", got)
	}
	if got := devbox.waiting(home, "amber"); got != nil {
		t.Errorf("%+v", got)
	}
	if got := devbox.waiting(home, "elm"); len(got) != 1 || !got[0].Deferrable {
		t.Errorf("%+v", got)
	}
	for _, more := range []mail.Message{{AnswerBy: 1 << 40}, {TellAfter: 60}} {
		more.Content = "@birch"
		if _, err := rooms.Publish(t.Context(), home, devbox.session(home, "amber"), rooms.Draft{Room: "review", Message: more}); err == nil {
			t.Errorf("%+v: a deadline that nobody keeps is taken", more)
		}
		more.Content = "@amber"
		if _, err := rooms.Publish(t.Context(), here, laptop.session(here, "birch"), rooms.Draft{Room: "review@devbox", Message: more}); err == nil {
			t.Errorf("%+v: a deadline that nobody keeps is taken", more)
		}
	}
}

// A machine that is not paired any more gets no posts, and its sessions are no members.
func TestAMachineThatIsNotPairedAnyMoreLosesItsMembers(t *testing.T) {
	laptop, devbox := twoMachines(t)
	home, here := devbox.project("site", "amber"), laptop.project("site", "birch")
	laptop.run()
	devbox.run()
	devbox.joins(home, "amber", "review")
	laptop.joins(here, "birch", "review@devbox")
	if err := devbox.r.Hosts(devbox.now).Revoke(t.Context(), "laptop"); err != nil {
		t.Fatal(err)
	}
	devbox.until(home, "birch is no member", func() bool { return slices.Equal(devbox.members(home, "review"), []string{"amber"}) })
}

// What a member posts before the answer to its wish to join follows that wish.
func TestPostsBeforeTheAnswerOfTheHomeFollow(t *testing.T) {
	laptop, devbox := twoMachines(t)
	home, here := devbox.project("site", "amber"), laptop.project("site", "birch")
	devbox.joins(home, "amber", "review")
	if _, err := rooms.Join(t.Context(), here, laptop.session(here, "birch"), "review@devbox", false); err != nil {
		t.Fatal(err)
	}
	laptop.post(here, "birch", "review@devbox", "hello", mail.Message{})
	laptop.run()
	devbox.run()
	devbox.hasPosts(home, "review", "birch@laptop: hello")
	laptop.hasPosts(here, "review@devbox", "birch: hello")
}

// looks counts the looks of a relay that cannot read its list of hosts, and ends them behind the
// second one.
type looks struct {
	slog.Handler
	host *Host
	seen int
	end  func()
}

func (l *looks) Enabled(context.Context, slog.Level) bool { return true }

func (l *looks) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "named projects are left out" {
		if l.seen++; l.seen == 3 {
			l.end()
		}
		l.host.changes.Recheck()
	}
	return nil
}

// A person may be about to edit the file, or repair it.
func TestNobodyLosesAMembershipWhileTheListOfHostsCannotBeRead(t *testing.T) {
	_, devbox := twoMachines(t)
	state, repo := devbox.r.State, filepath.Join(project.ReposDir, "0123456789ab")
	if err := errors.Join(os.MkdirAll(filepath.Join(state, repo), 0o700), os.MkdirAll(filepath.Join(state, project.ProjectsDir), 0o700),
		os.Symlink(filepath.Join("..", repo), filepath.Join(state, project.ProjectsDir, "ba9876543210"))); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Open(broker.Config{Root: filepath.Join(state, repo, "broker"), Now: devbox.now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	devbox.joins(b, "amber", "review")
	r, err := rooms.StoreOf(b.Registry).Open("review")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.JoinFrom(t.Context(), "laptop", "r-laptop.s-birch", "birch@laptop", ""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(devbox.r.Dir.Path(), "hosts.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h := &Host{Relay: devbox.r, Getenv: devbox.getenv, Now: devbox.now, list: devbox.r.Hosts(devbox.now), changes: watch.NewChanges()}
	defer h.changes.Close()
	h.Log = slog.New(&looks{slog.DiscardHandler, h, 0, cancel})
	arrived, err := follow(b)
	if err != nil {
		t.Fatal(err)
	}
	defer arrived.close()
	open := &root{name: "ba9876543210", path: b.Root(), b: b, arrived: arrived, rooms: rooms.NewHome(b), files: map[string]string{}}
	h.roots = &roots{h: h, open: map[string]*root{open.name: open}, failed: map[string]string{}, alone: map[string]time.Time{}}
	h.watch(ctx)
	if got := devbox.members(b, "review"); !slices.Equal(got, []string{"amber", "birch@laptop"}) {
		t.Errorf("members: %q", got)
	}
}

// still returns a relay that looks at its roots only when the test says so, and has no links.
func (m *machine) still() *Host {
	m.t.Helper()
	list := m.r.Hosts(m.now)
	log := slog.New(slog.DiscardHandler)
	h := &Host{Relay: m.r, Getenv: m.getenv, Now: m.now, Log: log, list: list, peers: relay.Peers{Key: m.key(), List: list}, changes: watch.NewChanges(),
		carrier: &carriers{list: list, ways: map[string]carrier{}, log: log}}
	h.roots = &roots{h: h, open: map[string]*root{}, failed: map[string]string{}, alone: map[string]time.Time{}}
	m.t.Cleanup(func() { h.roots.closeAll(); h.changes.Close() })
	return h
}

func (h *Host) lookOnce(t *testing.T) {
	t.Helper()
	list, err := h.list.All()
	if err != nil {
		t.Fatal(err)
	}
	h.roots.look(t.Context(), list, true)
}

// A post changes no file that makes a root look used, and may be the first thing that happens there
// after a restart of the relay.
func TestPostsGoOutFromARootThatTheRelayHasNotOpened(t *testing.T) {
	for what, prepare := range map[string]func(h *Host, root string) error{
		"one that is used now": func(*Host, string) error { return nil },
		"one that was idle for weeks": func(h *Host, root string) error {
			old := h.Now().Add(-2 * inUse)
			return os.Chtimes(root, old, old)
		},
	} {
		_, devbox := twoMachines(t)
		home := devbox.project("site", "amber")
		devbox.joins(home, "amber", "review")
		r, err := rooms.StoreOf(home.Registry).Open("review")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.JoinFrom(t.Context(), "laptop", "r-laptop.s-birch", "birch@laptop", ""); err != nil {
			t.Fatal(err)
		}
		devbox.post(home, "amber", "review", "one", mail.Message{})
		h := devbox.still()
		if err := prepare(h, home.Root()); err != nil {
			t.Fatal(err)
		}
		h.lookOnce(t)
		if got := devbox.waitingFor(home, "laptop"); len(got) != 2 { // the post, and the list of members
			t.Errorf("%s: %d messages go out", what, len(got))
		}
	}
}

// A wish to join that arrives while a person edits the list of hosts is no wish of a machine that
// may not join.
func TestAWishToJoinWaitsWhileTheListOfHostsCannotBeRead(t *testing.T) {
	_, devbox := twoMachines(t)
	home := devbox.project("site", "amber")
	devbox.joins(home, "amber", "review")
	h := devbox.still()
	open, err := h.roots.get(project.Root{Name: "site", Path: home.Root()})
	if err != nil {
		t.Fatal(err)
	}
	wish := rooms.RoomOp{Do: rooms.DoJoin}.Message("#review")
	p := &post{open.b, h, open.arrived, open.name}
	arrive := func(peer string) (relay.Reason, error) {
		wish.ID, wish.From, wish.FromSession = mail.NewID(h.Now()), "birch@"+peer, "r-"+peer+".s-birch"
		return p.Deliver(t.Context(), peer, "#review", []mail.Message{wish}, false)
	}
	if why, err := arrive("tablet"); why != relay.Forbidden || err != nil {
		t.Errorf("of a machine that is not in the list: %q %v", why, err)
	}
	file := filepath.Join(devbox.r.Dir.Path(), "hosts.json")
	whole, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte("{"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if why, err := arrive("laptop"); why != relay.Stored || err == nil {
		t.Errorf("while the list is damaged: %q %v", why, err)
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if why, err := arrive("laptop"); why != relay.Stored || err != nil {
		t.Errorf("behind that: %q %v", why, err)
	}
}

// What keeps a root from being opened may pass, such as too many open files: then the root is
// relayed without a restart.
func TestARootThatCouldNotBeOpenedIsOpenedAtALaterLook(t *testing.T) {
	_, devbox := twoMachines(t)
	home := devbox.project("site", "amber")
	path := filepath.Join(home.Root(), relay.Directory)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := devbox.still()
	h.lookOnce(t)
	if h.roots.at("site") != nil {
		t.Fatal("a root without a directory of the relay is open")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.lookOnce(t)
	if h.roots.at("site") == nil {
		t.Error("the root is not relayed")
	}
}

// The next machine with its name may be another one. No relay runs.
func TestARevokedMachineIsInvitedToNoRoom(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "site")
	r, err := Open(func(name string) string { return map[string]string{"HOME": home}[name] }, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list := r.Hosts(time.Now)
	if err := list.NameProject(t.Context(), relay.NamedProject{Name: "site", Root: path}); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Open(broker.Config{Root: path, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	room, err := rooms.StoreOf(b.Registry).Create(t.Context(), "board", "amber", true)
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	for _, does := range []string{"revoke", "remove"} {
		if err := list.Add(t.Context(), relay.Host{Name: does, Carrier: relay.SSH, Key: public(t)}); err != nil {
			t.Fatal(err)
		}
		for _, alias := range []string{"birch@" + does, "birch"} {
			if err := room.Invite(t.Context(), alias); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := person(t, home, does, does); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if meta, err := room.Meta(); err != nil || !slices.Equal(meta.Invited, []string{"amber", "birch"}) {
			t.Errorf("%s: invited are %q %v", does, meta.Invited, err)
		}
	}
}

// The room's list of members cannot be read.
func TestARevokedMachineLosesItsKeyWhateverItsRoomsSay(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	path := filepath.Join(home, "site")
	r, err := Open(getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list := r.Hosts(time.Now)
	key := public(t)
	line, lerr := AuthorizedLine("/usr/bin/c2cd", sshKey, key)
	aerr := list.Add(t.Context(), relay.Host{Name: "laptop", Carrier: relay.SSH, Key: key})
	err = errors.Join(lerr, aerr, list.NameProject(t.Context(), relay.NamedProject{Name: "site", Root: path}), os.MkdirAll(filepath.Join(path, "rooms", "board", "members.json"), 0o700),
		os.Mkdir(filepath.Join(home, ".ssh"), 0o700), os.WriteFile(AuthorizedKeys(getenv), []byte(line+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := person(t, home, "remove", "laptop"); err == nil || !strings.Contains(err.Error(), "some room here still has members") {
		t.Errorf("%v: %s", err, out)
	}
	if data, err := os.ReadFile(AuthorizedKeys(getenv)); err != nil || len(data) > 0 {
		t.Errorf("authorized_keys has %q %v", data, err)
	}
	if h, err := list.ByName("laptop"); err != nil || h.Revoked == 0 {
		t.Errorf("%+v %v", h, err)
	}
}
