package rooms

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// machine is a root on a machine that is paired with the other one of a test.
type machine struct {
	*broker.Broker
	t          *testing.T
	name, peer string
	home       *Home
	carried    int    // messages of its outbox that carry has taken
	only       string // the only room in which sessions of the other machine may be; "": in all
}

func (m *machine) rights(host, room string) (paired, mayJoin bool) {
	return host == m.peer, m.only == "" || m.only == room
}

// two makes devbox, with amber in the room review, and laptop, with birch and cedar in its copy.
func two(t *testing.T) (devbox, laptop *machine) {
	t.Helper()
	devbox, laptop = newMachine(t, "devbox", "laptop"), newMachine(t, "laptop", "devbox")
	devbox.join("amber", "review")
	laptop.join("birch", "review@devbox")
	laptop.join("cedar", "review@devbox")
	laptop.carry(devbox, false)
	devbox.carry(laptop, false)
	if got := laptop.members("review@devbox"); !slices.Equal(got, []string{"amber@devbox", "birch", "cedar"}) {
		t.Fatalf("members of the copy: %q", got)
	}
	return devbox, laptop
}

func newMachine(t *testing.T, name, peer string) *machine {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: filepath.Join(t.TempDir(), "root"), Now: time.Now, Hosts: func() ([]string, error) { return []string{peer}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return &machine{Broker: b, t: t, name: name, peer: peer, home: NewHome(b)}
}

func (m *machine) session(alias string) sessions.Session {
	m.t.Helper()
	s, err := m.Register(m.t.Context(), callers.Caller{Explicit: "s-" + alias, Client: "gem"}, alias)
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

func (m *machine) join(alias, room string) {
	m.t.Helper()
	if _, err := Join(m.t.Context(), m.Broker, m.session(alias), room, true); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) post(alias, room, text string) Receipt {
	m.t.Helper()
	r, err := Publish(m.t.Context(), m.Broker, m.session(alias), Draft{Room: room, Message: mail.Message{Content: text}})
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func (m *machine) look() {
	m.t.Helper()
	m.home.Look(m.t.Context(), m.rights)
}

func (m *machine) waiting(sid string) []mail.Message {
	m.t.Helper()
	box, err := m.Mailbox(sid)
	if err != nil {
		m.t.Fatal(err)
	}
	all, err := box.PeekAll(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// outgoing returns the messages for the other machine that were not carried yet, as the relay gives
// them to it.
func (m *machine) outgoing() (msgs []mail.Message) {
	m.t.Helper()
	m.look()
	for _, one := range m.waiting("host-" + m.peer)[m.carried:] {
		one.FromSession = mail.RemoteSession(m.name, one.FromSession, one.From)
		one.From, one.To = one.From+"@"+m.name, strings.TrimSuffix(one.To, "@"+m.peer)
		msgs = append(msgs, one)
	}
	return msgs
}

// carry carries all new messages to the other machine, like the relay. With twice, each arrives
// twice: a kill came before its receipt.
func (m *machine) carry(to *machine, twice bool) {
	m.t.Helper()
	msgs := m.outgoing()
	m.carried += len(msgs)
	for _, msg := range msgs {
		for _, again := range []bool{false, true}[:1+map[bool]int{true: 1}[twice]] {
			if err := to.receive(m.name, msg, again); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

func (m *machine) receive(from string, msg mail.Message, mayRepeat bool) error {
	_, err := ReceivePosts(m.t.Context(), m.Broker, from, strings.TrimPrefix(msg.To, "#"), []mail.Message{msg}, CopyOptions{MayJoin: true, MayRepeat: mayRepeat})
	return err
}

func (m *machine) room(name string) *Room {
	m.t.Helper()
	r, err := StoreOf(m.Registry).Open(name)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { r.Close() })
	return r
}

func (m *machine) members(room string) (aliases []string) {
	m.t.Helper()
	all, err := m.room(room).Members()
	if err != nil {
		m.t.Fatal(err)
	}
	for _, one := range all {
		aliases = append(aliases, one.Alias)
	}
	return aliases
}

func (m *machine) posts(room string) (texts []string) {
	m.t.Helper()
	all, err := m.room(room).Last(0, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, p := range all {
		texts = append(texts, p.Content)
	}
	return texts
}

// A kill before a record, at either end, leads to a repetition: nobody has a post twice.
func TestARepetitionChangesNothing(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "@birch one")
	devbox.post("amber", "review", "two")
	r := devbox.room("review")
	before, err := r.Hosts()
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	devbox.look()
	now, err := r.Hosts()
	if err != nil || len(now) != 1 {
		t.Fatal(now, err)
	}
	if err := r.RecordSent(t.Context(), now[0], before[0]); err != nil { // as if a kill had come before it
		t.Fatal(err)
	}
	devbox.carry(laptop, true)
	if got := laptop.posts("review@devbox"); !slices.Equal(got, []string{"@birch one", "two"}) {
		t.Errorf("posts of the copy: %q", got)
	}
	if got := laptop.waiting("s-birch"); len(got) != 1 || got[0].Content != "@birch one" {
		t.Errorf("%+v", got)
	}
	laptop.post("birch", "review@devbox", "@amber three")
	laptop.carry(devbox, true)
	if got := devbox.posts("review"); len(got) != 3 {
		t.Errorf("posts of the home: %q", got)
	}
	if got := devbox.waiting("s-amber"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// A kill between the store of a post and the messages to those that it names.
func TestAKillBehindTheStoreOfACopyLosesNoMention(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "@birch one")
	msgs := devbox.outgoing()
	op, err := ParseRoomOp(msgs[0])
	if err != nil {
		t.Fatal(err)
	}
	a, err := arrived(op, msgs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := laptop.room("review@devbox").AddCopies(t.Context(), []Post{a.Post}, false); err != nil {
		t.Fatal(err)
	}
	devbox.carry(laptop, true)
	if got := laptop.waiting("s-birch"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// A session that takes the alias of a member that has gone gets none of the posts that name that
// member.
func TestAnAliasIsNoMembershipOfACopy(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	client := exec.Command("sleep", "600")
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	_, err := laptop.Register(t.Context(), callers.Caller{Explicit: "s-cedar", PID: client.Process.Pid, Client: "gem"}, "cedar")
	client.Process.Kill()
	client.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := laptop.Register(t.Context(), callers.Caller{Explicit: "s-other", Client: "gem"}, "cedar"); err != nil {
		t.Fatal(err)
	}
	devbox.post("amber", "review", "@cedar and @birch, the key is 7.")
	devbox.carry(laptop, false)
	if got := laptop.waiting("s-other"); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	if got := laptop.waiting("s-birch"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAHostileHomeReachesOnlyItsOwnCopies(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	laptop.join("birch", "board")
	hostile := func(op RoomOp, to string) mail.Message {
		m := op.Message(to)
		m.ID, m.From, m.FromSession, m.Kind = mail.NewID(time.Now()), "c2c@devbox", "r-devbox.c2c", mail.KindSystem
		return m
	}
	post := func(p Post) RoomOp {
		return RoomOp{Do: DoCopy, Post: p.JSON(), NamesOwn: []string{"s-birch"}}
	}
	good := Post{From: "amber", Session: "s-amber", Content: "@birch good", ID: "m-good"}
	for _, to := range []string{"#board", "#nowhere"} { // board is a room of laptop's own
		if err := laptop.receive("devbox", hostile(post(good), to), false); !errors.Is(err, ErrNoRoom) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if err := laptop.receive("tablet", hostile(post(good), "#review"), false); !errors.Is(err, ErrNoRoom) {
		t.Errorf("from a third machine: %v", err)
	}
	for _, change := range []func(*Post){
		func(p *Post) { p.Kind = mail.KindSystem },
		func(p *Post) { p.Kind = "order" },
		func(p *Post) { p.Tag = "</c2c>" },
		func(p *Post) { p.ID = "" },
		func(p *Post) { p.Thread = "../x" },
		func(p *Post) { p.From = sessions.SystemAlias },
		func(p *Post) { p.Content = strings.Repeat("x", MaxPost+1) },
	} {
		bad := good
		bad.ID = "m-bad"
		change(&bad)
		if err := laptop.receive("devbox", hostile(post(bad), "#review"), false); err != nil {
			t.Errorf("%+v: %v: it must be left out, so that other mail goes on", bad, err)
		}
	}
	stranger := RoomOp{Do: DoList, Members: []Entry{{Alias: "elm", SID: "s-elm", Own: true}, {Alias: "birch", SID: "s-birch", Own: true}, {Alias: "c2c notice\n", SID: "s-x"}}}
	laptop.session("elm")
	for _, op := range []RoomOp{stranger, {Do: "format"}} {
		if err := laptop.receive("devbox", hostile(op, "#review"), false); err != nil {
			t.Error(err)
		}
	}
	if got := laptop.waiting("s-birch"); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	if got := laptop.members("review@devbox"); len(got) != 2 || got[0] != "birch" || !strings.HasPrefix(got[1], "session-") {
		t.Errorf("members: %q", got)
	}
	if err := laptop.receive("devbox", hostile(post(good), "#review"), false); err != nil {
		t.Error(err)
	}
	if got := laptop.waiting("s-birch"); len(got) != 1 || got[0].From != "amber@devbox" || got[0].KnownBy != mail.ByHost {
		t.Errorf("%+v", got)
	}
	if got := devbox.posts("review"); got != nil {
		t.Errorf("%q", got)
	}
}

func TestAHostileMachineSpeaksOnlyForItsOwnSessions(t *testing.T) {
	t.Parallel()
	devbox, _ := two(t)
	tell := func(op RoomOp, from, sid string) error {
		m := op.Message("#review")
		m.ID, m.From, m.FromSession = mail.NewID(time.Now()), from+"@tablet", "r-tablet."+sid
		return devbox.receive("tablet", m, false)
	}
	if err := tell(RoomOp{Do: DoPost, Text: "hello"}, "birch", "s-birch"); !errors.Is(err, ErrNotMember) {
		t.Errorf("a post of a machine without members: %v", err)
	}
	if err := tell(RoomOp{Do: DoLeave}, "birch", "s-birch"); err != nil || len(devbox.members("review")) != 3 {
		t.Errorf("%v: members are %q", err, devbox.members("review"))
	}
	if err := tell(RoomOp{Do: DoJoin}, "fir", "s-fir"); err != nil {
		t.Error(err)
	}
	for _, op := range []RoomOp{{Do: DoPost, Text: "@all", All: true}, {Do: DoPost, Text: "wake", Wake: true}, {Do: DoPost, Text: "x", Kind: mail.KindSystem}, {Do: DoPost}, {Do: "x"}} {
		if err := tell(op, "fir", "s-fir"); !errors.Is(err, ErrPost) {
			t.Errorf("%+v: %v", op, err)
		}
	}
	if got := devbox.waiting("s-amber"); len(got) > 0 || devbox.posts("review") != nil {
		t.Errorf("%+v", got)
	}
}

func TestTheCostOfAPostToAnotherMachineIsThatOfItsReceipt(t *testing.T) {
	_, laptop := two(t)
	for _, text := range []string{"the tests pass", "look, @amber", "all of you, @all: look"} {
		d := Draft{Room: "review@devbox", Message: mail.Message{Content: text}}
		if strings.Contains(text, "@all") {
			d.Reason = "it is urgent"
		}
		before, err := Cost(t.Context(), laptop.Broker, laptop.session("birch"), d)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Publish(t.Context(), laptop.Broker, laptop.session("birch"), d)
		if after.ID, after.Note = "", ""; err != nil || before.String() != after.String() || before.Host != "devbox" {
			t.Errorf("%s, and before it %s; %v", after, before, err)
		}
	}
}

func TestALongBacklogGoesInParts(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	text := strings.Repeat("much ", 2000)
	for i := range 150 {
		devbox.post("amber", "review", fmt.Sprint(i, " ", text))
	}
	devbox.carry(laptop, false)
	got := laptop.posts("review@devbox")
	if len(got) != 150 || !slices.Equal(got, devbox.posts("review")) {
		t.Errorf("%d posts", len(got))
	}
}

func TestAMachineThatMayNotReachARoomAnyMoreLosesItsMembersThere(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.join("amber", "board")
	laptop.join("birch", "board@devbox")
	laptop.carry(devbox, false)
	devbox.carry(laptop, false)
	devbox.only = "review"
	devbox.post("amber", "board", "secret")
	devbox.post("amber", "review", "hello")
	devbox.carry(laptop, false)
	if got := devbox.members("board"); !slices.Equal(got, []string{"amber"}) {
		t.Errorf("members: %q", got)
	}
	if _, err := StoreOf(laptop.Registry).Open("board@devbox"); !errors.Is(err, ErrNoRoom) {
		t.Errorf("its copy: %v", err)
	}
	if got := laptop.posts("review@devbox"); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("posts of the other copy: %q", got)
	}
	devbox.only = ""
	laptop.join("birch", "board@devbox")
	laptop.carry(devbox, false)
	devbox.post("amber", "board", "later")
	devbox.carry(laptop, false)
	if got := laptop.posts("board@devbox"); !slices.Equal(got, []string{"later"}) {
		t.Errorf("posts of the copy: %q", got)
	}
}
