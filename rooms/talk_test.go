package rooms

import (
	"context"
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

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

type world struct {
	*broker.Broker
	t     *testing.T
	clock time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: time.Now()}
	b, err := broker.Open(broker.Config{Root: filepath.Join(t.TempDir(), "root"), Now: func() time.Time { return w.clock }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	w.Broker = b
	return w
}

// unrung is a session that nothing rings.
func (w *world) unrung(alias string) sessions.Session {
	w.t.Helper()
	client := exec.Command("sleep", "600")
	if err := client.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { client.Process.Kill(); client.Wait() })
	s, err := w.Register(w.t.Context(), callers.Caller{Explicit: alias, PID: client.Process.Pid, Client: "claude"}, alias)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// session is one that something rings for its mail.
func (w *world) session(alias string) sessions.Session {
	w.t.Helper()
	s := w.unrung(alias)
	lock, err := atomicfile.OpenLocked(w.Dir(), sessions.RingLock(s.ID))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { lock.Release() })
	if ok, err := lock.Try(); err != nil || !ok {
		w.t.Fatal(ok, err)
	}
	return s
}

func (w *world) person() sessions.Session {
	w.t.Helper()
	s, err := w.Attach(w.t.Context(), callers.Caller{User: &callers.User{UID: os.Getuid(), Login: "ada", Terminal: true}})
	if err != nil || s.State != sessions.Person {
		w.t.Fatal(s, err)
	}
	return s
}

// now is a session as it is now.
func (w *world) now(s sessions.Session) sessions.Session {
	w.t.Helper()
	rows, err := w.Rows(w.t.Context())
	i := sessions.FindSID(rows, s.ID)
	if err != nil || i < 0 {
		w.t.Fatal(s.ID, err)
	}
	return w.Session(rows[i])
}

func (w *world) join(room string, all ...sessions.Session) {
	w.t.Helper()
	for _, s := range all {
		if _, err := Join(w.t.Context(), w.Broker, s, room, true); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) post(from sessions.Session, text string) Receipt {
	w.t.Helper()
	return w.draft(from, Draft{Room: "review", Message: mail.Message{Content: text}})
}

func (w *world) draft(from sessions.Session, d Draft) Receipt {
	w.t.Helper()
	r, err := Publish(w.t.Context(), w.Broker, from, d)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) refused(from sessions.Session, d Draft, says string) {
	w.t.Helper()
	if _, err := Publish(w.t.Context(), w.Broker, from, d); err == nil || !strings.Contains(err.Error(), says) {
		w.t.Errorf("%v, want %q", err, says)
	}
}

// A session that takes the former alias of a member does not put it out of its room.
func TestAFormerAliasIsNoMembership(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.session("cedar")
	w.join("review", first)
	first, err := w.Register(t.Context(), callers.Caller{Explicit: first.ID, PID: first.Process, Client: "claude"}, "oak")
	if err != nil {
		t.Fatal(err)
	}
	second := w.session("sid-2")
	second, err = w.Register(t.Context(), callers.Caller{Explicit: second.ID, PID: second.Process, Client: "claude"}, "cedar")
	if err != nil {
		t.Fatal(err)
	}
	w.join("review", second)
	if r := w.post(first, "Both are here."); r.StoredFor != 1 || r.DeliveredTo[0] != "cedar" {
		t.Errorf("%+v", r)
	}
	w.post(second, "And both may post.")
}

// A session that takes the alias of a member that has gone gets none of its room's posts before it
// has joined.
func TestAnAliasIsNoMembershipOfAPrivateRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber := w.session("amber")
	r, err := StoreOf(w.Registry).Create(t.Context(), "review", amber.Alias, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	client := exec.Command("sleep", "600")
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	gone, err := w.Register(t.Context(), callers.Caller{Explicit: "gone", PID: client.Process.Pid, Client: "claude"}, "cedar")
	if err != nil {
		t.Fatal(err)
	}
	for _, alias := range []string{"amber", "cedar"} {
		if err := r.Invite(t.Context(), alias); err != nil {
			t.Fatal(err)
		}
	}
	w.join("review", amber, gone)
	client.Process.Kill()
	client.Wait()
	other := w.session("other")
	if other, err = w.Register(t.Context(), callers.Caller{Explicit: other.ID, PID: other.Process, Client: "claude"}, "cedar"); err != nil {
		t.Fatal(err)
	}
	receipt := w.post(amber, "@cedar, the key is 7.")
	if !slices.Equal(receipt.Strangers, []string{"cedar"}) || len(receipt.Skipped)+len(receipt.Wakes) > 0 {
		t.Errorf("%+v", receipt)
	}
	w.refused(amber, Draft{Room: "review", To: "cedar", Message: mail.Message{Content: "The key is 7."}}, "not in the room")
	if got := w.waiting(other.ID); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// An answer goes to the author of the post that it names, whatever ids others choose.
func TestNoPostTakesTheIDOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	id := w.post(amber, "One.").ID
	for _, other := range []string{id, mail.ShortID(id)} {
		w.refused(birch, Draft{Room: "review", Message: mail.Message{ID: other, Content: "Two."}}, "another post has it")
	}
	w.draft(birch, Draft{Room: "review", Message: mail.Message{ID: "mine", Content: "Two."}})
}

// A post promises nothing that a room cannot do.
func TestAWishThatARoomCannotFulfilIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	later := mail.Seconds(w.clock.Add(time.Hour))
	for text, all := range map[string]map[string]mail.Message{
		"for all.":     {"keeps its posts": {Ephemeral: true}, "its posts": {ExpiresAt: later}, "names nobody": {AnswerBy: later}, "nobody who could": {TellAfter: 60}},
		"@birch, look": {"keeps its posts": {Ephemeral: true}, "its posts": {ExpiresAt: later}},
	} {
		for says, m := range all {
			m.Content = text
			w.refused(amber, Draft{Room: "review", Message: m}, says)
		}
	}
	room, err := StoreOf(w.Registry).Open("review")
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	if posts, err := room.Last(0, nil); err != nil || len(posts) > 0 {
		t.Errorf("%+v %v", posts, err)
	}
	r := w.draft(amber, Draft{Room: "review", Message: mail.Message{Content: "@birch, look", AnswerBy: later, Deferrable: true}})
	if len(r.Wakes) > 0 || !slices.Equal(r.Waits, []string{"birch"}) {
		t.Errorf("a message that does not ring: %s", r)
	}
}

// waiting are the messages in a mailbox.
func (w *world) waiting(sid string) []mail.Message {
	w.t.Helper()
	box, err := w.Mailbox(sid)
	if err != nil {
		w.t.Fatal(err)
	}
	msgs, err := box.PeekAll(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return msgs
}

// drain takes the mail of a session.
func (w *world) drain(sid string) {
	w.t.Helper()
	box, err := w.Mailbox(sid)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := box.LeaseAll(w.t.Context(), "test", 1<<30)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, m := range l.Messages {
		all = append(all, m.Handle())
	}
	if err := l.Ack(w.t.Context(), all...); err != nil {
		w.t.Fatal(err)
	}
}

// news are the texts that are new to a session, oldest first. It has them then.
func (w *world) news(s sessions.Session) (texts []string) {
	w.t.Helper()
	n, err := NewsFor(w.t.Context(), w.Registry, w.now(s), false)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range n.Rooms {
		for _, p := range slices.Backward(r.Posts) {
			texts = append(texts, p.Content)
		}
	}
	if err := n.Seen(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return texts
}

func (r Receipt) costs() string { text, _, _ := strings.Cut(r.String(), ";"); return text }

func TestAPostWakesNobodyAndAMentionOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch, cedar, ada := w.session("amber"), w.session("birch"), w.session("cedar"), w.person()
	w.join("review", amber, birch, cedar, ada)
	for text, want := range map[string]string{
		"nobody is named":      "stored for 3, wakes 0",
		"in code: `@birch`":    "stored for 3, wakes 0",
		"@birch, look":         "stored for 3, wakes 1 (birch)",
		"@birch @CEDAR @amber": "stored for 3, wakes 2 (birch, cedar)",
		"@ada @birch":          "stored for 3, wakes 1 (birch), tells 1 (ada)",
		"@dune":                "stored for 3, wakes 0",
	} {
		if got := w.post(amber, text).costs(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if n := len(w.waiting("birch")); n != 3 {
		t.Errorf("birch has %d messages", n)
	}
	w.drain("birch")
	w.drain("cedar")
	if got := w.news(birch); len(got) != 3 {
		t.Errorf("birch, beside its mail: %q", got)
	}
	if got := w.news(cedar); len(got) != 5 {
		t.Errorf("cedar, beside its mail: %q", got)
	}
	if got := w.news(amber); got != nil {
		t.Errorf("amber wrote all, and has %q", got)
	}
}

// The receipt counts a wake only for a session that something rings, and lists the sessions that
// the post names but that are no members.
func TestAReceiptPromisesNoMoreWakesThanThereAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch, cedar, dune := w.session("amber"), w.session("birch"), w.unrung("cedar"), w.session("dune")
	w.session("ebony")
	w.join("review", amber, birch, cedar, dune)
	if err := w.SetQuiet(t.Context(), dune.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := w.post(amber, "@birch @cedar @dune, look").costs(); got != "stored for 3, wakes 1 (birch), waits for the next turn of 2 (cedar, dune)" {
		t.Error(got)
	}
	if err := w.Rang(t.Context(), cedar.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByTerminal}); err != nil { // before, under c2c start
		t.Fatal(err)
	}
	if got := w.post(amber, "@cedar, look").costs(); got != "stored for 3, wakes 0, waits for the next turn of 1 (cedar)" {
		t.Error(got)
	}
	if got := w.post(amber, "@ebony and @nobody, look").String(); !strings.HasPrefix(got, "stored for 3, wakes 0; ") || !strings.HasSuffix(got, "; not in the room: ebony (c2c rooms invite review ebony); no session here is called nobody") {
		t.Error(got)
	}
	if got := w.post(amber, "Ask @brich or @Zoe. Not `@param`, a@b.c, @types/node or @birch.").String(); !strings.HasSuffix(got, "; no session here is called brich, Zoe") {
		t.Error(got)
	}
	if got := w.post(amber, "\u8bf7\u770b@birch\u2014@cedar, and @bir\u0441h").String(); !strings.HasPrefix(got, "stored for 3, wakes 1 (birch), waits for the next turn of 1 (cedar); ") ||
		!strings.HasSuffix(got, "; no session here is called bir\u0441h (a name has only the letters A to Z)") {
		t.Error(got)
	}
	if n := len(w.waiting("ebony")); n != 0 {
		t.Errorf("ebony has %d messages", n)
	}
}

// An invitation makes a session a member at once, without a turn of it: a post that names it then
// wakes it, and it can read the room.
func TestAnInvitedSessionIsAMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	for _, private := range []bool{false, true} {
		name := fmt.Sprint("review-", private)
		room, err := StoreOf(w.Registry).Create(t.Context(), name, amber.Alias, private)
		if err != nil {
			t.Fatal(err)
		}
		defer room.Close()
		w.join(name, amber)
		post := func() Receipt {
			t.Helper()
			return w.draft(amber, Draft{Room: name, Message: mail.Message{Content: "@birch, your turn"}})
		}
		if r := post(); r.StoredFor != 0 || !strings.HasSuffix(r.String(), "; not in the room: birch (c2c rooms invite "+name+" birch)") {
			t.Error(r)
		}
		sent, in, err := Invite(t.Context(), w.Broker, amber, name, "Birch")
		if err != nil || !in || sent.To != "birch" || sent.ID == "" {
			t.Errorf("%+v %v %v", sent, in, err)
		}
		if r := post(); r.costs() != "stored for 1, wakes 1 (birch)" {
			t.Error(r)
		}
		if err := MayRead(room, birch); err != nil {
			t.Error(err)
		}
		got := w.waiting("birch")
		if len(got) != 2 || !got[0].Deferrable || got[0].Content != "I have added you to the room "+name+". Posts there wake you only when they name or answer you. To leave: the tool room, or c2c rooms leave "+name || got[1].Content != "@birch, your turn" {
			t.Errorf("%+v", got)
		}
		w.drain("birch")
		if again, in, err := Invite(t.Context(), w.Broker, amber, name, "birch"); err != nil || !in || again.ID != "" || len(w.waiting("birch")) > 0 {
			t.Errorf("%+v %v %v", again, in, err)
		}
		if meta, err := room.Meta(); err != nil || meta.Invites("birch") {
			t.Errorf("%+v %v", meta, err)
		}
	}
}

func TestWhatCarriesAMentionSaysItsRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	r := w.draft(amber, Draft{Room: "review", To: "birch", Message: mail.Message{Content: "look"}})
	got := w.waiting("birch")
	if len(got) != 1 || got[0].To != "birch#review" || got[0].ID != r.ID || !strings.HasPrefix(got[0].Envelope(), `<c2c event="message" from="amber" by="process" room="review" id="`) {
		t.Fatalf("%+v", got)
	}
	w.drain("birch")
	// The answer goes to the room, and wakes its author.
	answer, err := ReplyToPost(t.Context(), w.Broker, birch, got[0], Draft{Message: mail.Message{Content: "done"}})
	if err != nil || answer.costs() != "stored for 1, wakes 1 (amber)" || answer.InReplyTo != r.ID {
		t.Errorf("%+v %v", answer, err)
	}
	// An answer to a post that stands in the room only.
	one := w.post(amber, "nobody is named")
	m, err := Received(w.Registry, w.now(birch), mail.ShortID(one.ID))
	if err != nil || m.To != "birch#review" {
		t.Fatalf("%+v %v", m, err)
	}
	if answer, err = ReplyToPost(t.Context(), w.Broker, birch, m, Draft{Message: mail.Message{Content: "I see"}}); err != nil || answer.costs() != "stored for 1, wakes 1 (amber)" {
		t.Errorf("%+v %v", answer, err)
	}
	if _, err := Received(w.Registry, w.now(birch), "no-such-id"); !errors.Is(err, broker.ErrNoMessage) {
		t.Error(err)
	}
}

func TestWhoMayPostWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch, cedar, ada := w.session("amber"), w.session("birch"), w.session("cedar"), w.person()
	w.join("review", amber, birch, ada)
	text := func(s string) Draft { return Draft{Room: "review", Message: mail.Message{Content: s}} }
	w.refused(cedar, text("x"), "not in the room")
	w.refused(amber, text(" \n"), "empty")
	w.refused(amber, text(strings.Repeat("x", MaxPost+1)), "too large")
	w.refused(amber, text("a\x00b"), "NUL")
	w.refused(amber, text("@all, stop"), "--reason")
	w.refused(amber, Draft{Room: "review", Wake: true, Message: mail.Message{Content: "x"}}, "write @all, and say why with --reason")
	w.refused(amber, Draft{Room: "review", Reason: "why", Message: mail.Message{Content: "x"}}, "does not name all")
	w.refused(amber, Draft{Room: "review", To: "cedar", Message: mail.Message{Content: "x"}}, "post to cedar#review: cedar is not in the room (c2c rooms invite review cedar)")
	w.refused(amber, Draft{Room: "reviews", Message: mail.Message{Content: "x"}}, `did you mean "review"`)
	w.refused(amber, Draft{Room: "REVIEW", Message: mail.Message{Content: "x"}}, `did you mean "review"`)
	w.refused(amber, Draft{Room: "../x", Message: mail.Message{Content: "x"}}, "A-Z")
	if posts := w.news(birch); posts != nil {
		t.Errorf("%q is stored", posts)
	}
	all := text("@all, stop")
	all.Reason = "main is broken"
	if got := w.draft(amber, all).costs(); got != "stored for 2, wakes 1 (birch), tells 1 (ada)" {
		t.Error(got)
	}
	if got := w.waiting("birch")[0].Content; got != "@all, stop\n\n(To all members, because: main is broken)" {
		t.Errorf("%q", got)
	}
	if got := w.draft(ada, text("@all, go on")).costs(); got != "stored for 2, wakes 2 (amber, birch)" {
		t.Error(got)
	}
	if got := w.draft(ada, Draft{Room: "review", Wake: true, Message: mail.Message{Content: "look"}}).costs(); got != "stored for 2, wakes 2 (amber, birch)" {
		t.Error(got)
	}
	if m := w.waiting("birch"); !m[1].FromPerson {
		t.Errorf("%+v", m[1])
	}
}

func TestPassIsFreeAndInvisible(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	asked := w.draft(amber, Draft{Room: "review", To: "birch", Message: mail.Message{Content: "anything?"}})
	for _, text := range []string{"pass", "Pass.", "[PASS]", " *pass* \n"} {
		r := w.draft(birch, Draft{Room: "review", Message: mail.Message{Content: text, InReplyTo: asked.ID}})
		if !r.Passed || r.ID != "" || r.StoredFor != 0 || !strings.HasPrefix(r.String(), "passed") {
			t.Errorf("%q: %+v", text, r)
		}
	}
	if got := w.waiting("amber"); len(got) > 0 || w.news(amber) != nil {
		t.Errorf("%+v", got)
	}
	if r := w.post(birch, "pass the salt"); r.Passed {
		t.Errorf("%+v", r)
	}
}

func TestAMutedMemberIsNotWoken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	r, err := StoreOf(w.Registry).Open("review")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.SetLevel(t.Context(), "birch", Muted); err != nil {
		t.Fatal(err)
	}
	got := w.post(amber, "@birch @birch")
	if !strings.HasPrefix(got.String(), "stored for 1, wakes 0; ") || !strings.HasSuffix(got.String(), "; muted by birch") {
		t.Error(got)
	}
	if len(w.waiting("birch")) > 0 || w.news(birch) != nil {
		t.Error("birch has something")
	}
}

func TestARetryWithTheSameIDPostsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	d := Draft{Room: "review", Message: mail.Message{Content: "@birch", ID: "m-1"}}
	if r := w.draft(amber, d); r.Duplicate {
		t.Errorf("%+v", r)
	}
	if r := w.draft(amber, d); !r.Duplicate || r.ID != "m-1" || len(r.Wakes) != 1 {
		t.Errorf("%+v", r)
	}
	if got := w.waiting("birch"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	d.Message.Content = "other words"
	w.refused(amber, d, "another text")
}

// Others may post much between the two attempts.
func TestALateRetryWithTheSameIDPostsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	d := Draft{Room: "review", Message: mail.Message{Content: "Done.", ID: "m-1"}}
	w.draft(amber, d)
	for range 4 {
		w.post(birch, strings.Repeat("much ", 10_000))
	}
	if r := w.draft(amber, d); !r.Duplicate {
		t.Errorf("%+v", r)
	}
	w.refused(birch, d, "another post has it")
}

// A kill behind the store and before the message: the post is new in the room all the same, and a
// retry completes it.
func TestAKillBetweenTheStepsOfAPostLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	p := &posting{b: w.Broker, look: w.Prober(), from: amber, draft: Draft{Room: "review", Message: mail.Message{Content: "@birch", ID: "m-1"}}, receipt: Receipt{TS: mail.Seconds(w.clock)}}
	var err error
	if p.room, err = StoreOf(w.Registry).Open("review"); err != nil {
		t.Fatal(err)
	}
	defer p.room.Close()
	if err := errors.Join(p.findMembers(t.Context()), p.findTargets(), p.store(t.Context())); err != nil {
		t.Fatal(err)
	}
	if n, err := NewsFor(t.Context(), w.Registry, w.now(birch), false); err != nil || len(n.Rooms) != 0 {
		t.Errorf("while its message may be under way: %+v %v", n, err)
	}
	w.clock = w.clock.Add(2 * time.Minute)
	n, err := NewsFor(t.Context(), w.Registry, w.now(birch), false)
	if err != nil || len(n.Rooms) != 1 {
		t.Errorf("%+v %v", n, err)
	}
	if r := w.draft(amber, p.draft); !r.Duplicate || len(r.Wakes) != 1 {
		t.Errorf("%+v", r)
	}
	if got := w.waiting("birch"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if got := w.news(birch); got != nil {
		t.Errorf("it has the message, and %q", got)
	}
}

func TestARingOfAgentsIsStoppedAndThePersonIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.person()
	var ring []sessions.Session
	for i := range 5 {
		ring = append(ring, w.session(fmt.Sprint("agent-", i)))
	}
	w.join("review", append(slices.Clone(ring), ada)...)
	r := w.draft(ada, Draft{Room: "review", Message: mail.Message{Content: "@agent-0, begin"}})
	answer := func(i int, to string) Receipt {
		t.Helper()
		m := mail.Message{Content: "I agree", InReplyTo: to}
		r, err := Publish(t.Context(), w.Broker, ring[i%5], Draft{Room: "review", To: ring[(i+1)%5].Alias, Message: m, Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	woken := 0
	for i := range 60 {
		r = answer(i, r.ID)
		if woken += len(r.Wakes); len(r.Wakes) == 0 && !strings.Contains(r.Note, "a post of your user lets the agents continue") {
			t.Fatalf("%+v", r)
		}
	}
	if woken > 20 || woken < 15 {
		t.Errorf("%d wakes, and the limit is 20", woken)
	}
	notices := slices.DeleteFunc(w.waiting(ada.ID), func(m mail.Message) bool { return m.From != sessions.SystemAlias })
	if len(notices) != 1 || !strings.Contains(notices[0].Content, "room review") {
		t.Errorf("%+v", notices)
	}
	w.clock = w.clock.Add(guardPause + time.Minute)
	if one := w.draft(ring[0], Draft{Room: "review", To: "agent-1", Message: mail.Message{Content: "still there?"}, Limit: 20}); len(one.Wakes) != 1 {
		t.Errorf("after a pause: %+v", one)
	}
	if two := w.draft(ring[1], Draft{Room: "review", To: "agent-2", Message: mail.Message{Content: "and you?"}, Limit: 20}); len(two.Wakes) != 0 {
		t.Errorf("at once after that: %+v", two)
	}
	w.post(ada, "go on")
	if r = answer(0, r.ID); len(r.Wakes) == 0 {
		t.Errorf("after a person has spoken: %+v", r)
	}
}

// The guard counts what the receipts have called wakes, and its note says this number.
func TestTheGuardCountsTheWakesOfTheReceipts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch, cedar := w.session("amber"), w.unrung("birch"), w.session("cedar")
	w.join("review", amber, birch, cedar)
	post := func(text string) Receipt {
		t.Helper()
		return w.draft(amber, Draft{Room: "review", Message: mail.Message{Content: text}, Limit: 2})
	}
	for range 5 {
		if r := post("@birch, look"); r.costs() != "stored for 2, wakes 0, waits for the next turn of 1 (birch)" || r.Note != "" {
			t.Fatal(r)
		}
	}
	for range 2 {
		if r := post("@cedar, look"); len(r.Wakes) != 1 {
			t.Fatal(r)
		}
	}
	if r := post("@birch @cedar, look"); len(r.Wakes) != 0 || !slices.Equal(r.Waits, []string{"birch"}) || !strings.Contains(r.Note, " 2 times ") {
		t.Error(r)
	}
}

func TestAPostThatWakesManyCountsForEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []sessions.Session
	for i := range 9 {
		all = append(all, w.session(fmt.Sprint("agent-", i)))
	}
	w.join("review", all...)
	d := Draft{Room: "review", Message: mail.Message{Content: "@all, look"}, Reason: "news", Limit: 10}
	if r := w.draft(all[0], d); len(r.Wakes) != 8 {
		t.Errorf("%+v", r)
	}
	if r := w.draft(all[1], d); len(r.Wakes) != 0 || r.StoredFor != 8 {
		t.Errorf("%+v", r)
	}
	d.Limit = -1
	if r := w.draft(all[2], d); len(r.Wakes) != 8 {
		t.Errorf("without a limit: %+v", r)
	}
}

// A command in a shell does not find out which clients live, but the receipt of a post has to: it
// does not say that the post wakes a session whose client has ended.
func TestAReceiptInAShellDoesNotSayThatAPostWakesAnEndedSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber, birch)
	err := w.Change(t.Context(), func(rows []sessions.Row) ([]sessions.Row, error) {
		i := sessions.FindSID(rows, birch.ID)
		rows[i].SetInteger("pid", 1073741901) // no process can have this id
		rows[i].SetInteger("pid_start_time", 1)
		return rows, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Brief = true
	if r := w.draft(amber, Draft{Room: "review", Message: mail.Message{Content: "@birch, look"}}); len(r.Wakes) > 0 || !slices.Equal(r.Waits, []string{"birch"}) {
		t.Errorf("%+v", r)
	}
}

// A claimed person does not let a stopped room go on.
func TestOnlyAProvenPersonEndsTheCountOfWakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch, ada := w.session("amber"), w.session("birch"), w.person()
	w.join("review", amber, birch, ada)
	w.post(amber, "@birch")
	room, err := StoreOf(w.Registry).Open("review")
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	for _, known := range []string{mail.ByClaim, mail.ByPerson} {
		ada.KnownBy = known
		is := known == mail.ByPerson
		w.draft(ada, Draft{Room: "review", Message: mail.Message{Content: "go on"}})
		if posts, err := room.Last(1, nil); err != nil || posts[0].Person != is || posts[0].Wakes == 1 == is {
			t.Errorf("%s: %+v %v", known, posts, err)
		}
	}
}

// Fifty members come and go while ten of them post: each that stays has each post once, in the
// order of the history, even if it is killed between the look and the record of it.
func TestFiftyMembersHaveAThousandPostsOnceInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []sessions.Session
	for i := range 50 {
		all = append(all, w.session(fmt.Sprintf("agent-%02d", i)))
	}
	w.join("review", all[:40]...)
	ctx, read := t.Context(), make([][]string, len(all))
	take := func(i int, killed bool) {
		n, err := NewsFor(ctx, w.Registry, w.now(all[i]), false)
		if err != nil {
			t.Error(err)
		}
		if killed {
			return
		}
		for _, r := range n.Rooms {
			if r.Count > len(r.Posts) {
				t.Errorf("%d posts at once", r.Count)
			}
			for _, p := range slices.Backward(r.Posts) {
				read[i] = append(read[i], p.Content)
			}
		}
		if err := n.Seen(ctx); err != nil {
			t.Error(err)
		}
	}
	const authors, each, round = 10, 100, 2
	for n := 0; n < each; n += round {
		var group sync.WaitGroup
		for a := range authors {
			group.Go(func() {
				for i := n; i < n+round; i++ {
					if _, err := Publish(ctx, w.Broker, all[a], Draft{Room: "review", Message: mail.Message{Content: fmt.Sprintf("%d %03d", a, i)}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Go(func() { // members join and leave meanwhile
			switch i := 40 + n/10; {
			case n%10 == 0 && i < 50:
				if _, err := Join(ctx, w.Broker, all[i], "review", false); err != nil {
					t.Error(err)
				}
			case n%10 == 4:
				if err := Leave(ctx, w.Broker, w.now(all[30+n/10]), "review"); err != nil {
					t.Error(err)
				}
			}
		})
		group.Wait()
		for i := 10; i < 30; i++ {
			if i%2 == 0 || n%4 == 0 {
				take(i, i%6 == 0 && n%8 == 0)
			}
		}
		for i := 40; i < 50; i++ {
			take(i, i%6 == 0 && n%8 == 0)
		}
	}
	room, err := StoreOf(w.Registry).Open("review")
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	var want []string
	last, err := room.Last(0, nil)
	for _, p := range last {
		want = append(want, p.Content)
	}
	if err != nil || len(want) != authors*each {
		t.Fatalf("%d posts are stored, %v", len(want), err)
	}
	for i := 10; i < 30; i++ {
		if take(i, false); !slices.Equal(read[i], want) {
			t.Errorf("member %d has %d posts, want %d in order", i, len(read[i]), len(want))
		}
	}
	for i := 40; i < 50; i++ { // from the post on at which it joined
		if take(i, false); len(read[i]) == 0 || !slices.Equal(read[i], want[len(want)-len(read[i]):]) {
			t.Errorf("late member %d has %d posts", i, len(read[i]))
		}
	}
}

func TestListsHaveTheFieldsOfTheOriginal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.join("review", amber)
	w.join("other", birch)
	all, err := ListRooms(t.Context(), w.Registry, amber, false)
	if err != nil || len(all) != 2 || all[0].Room != "other" || all[0].Mine || !all[1].Mine || all[1].Count != 1 || all[1].Kind != "public" {
		t.Fatalf("%+v %v", all, err)
	}
	if mine, err := ListRooms(t.Context(), w.Registry, amber, true); err != nil || len(mine) != 1 || mine[0].Details[0].Alias != "amber" || mine[0].Details[0].Level != Quiet {
		t.Errorf("%+v %v", mine, err)
	}
	if err := Leave(t.Context(), w.Broker, w.now(amber), "review"); err != nil || w.now(amber).Facts.InRooms {
		t.Error(err)
	}
	if _, _, err := Invite(context.Background(), w.Broker, birch, "other", "nobody"); err == nil {
		t.Error("nobody is invited")
	}
}

func TestTheCostOfAPostIsKnownBeforeItIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	person, birch, cedar := w.person(), w.session("birch"), w.unrung("cedar")
	w.join("review", person, birch, cedar)
	d := Draft{Room: "review", Message: mail.Message{Content: "@birch and @cedar, look"}}
	got, err := Cost(t.Context(), w.Broker, person, d)
	if want := "stored for 2, wakes 1 (birch), waits for the next turn of 1 (cedar)"; err != nil || got.String() != want {
		t.Errorf("%s, %v", got, err)
	}
	r, err := StoreOf(w.Registry).Open("review")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if posts, err := r.Last(0, nil); err != nil || len(posts) != 0 {
		t.Errorf("it was posted: %+v, %v", posts, err)
	}
	if after := w.draft(person, d); !slices.Equal(after.Wakes, got.Wakes) || !slices.Equal(after.Waits, got.Waits) {
		t.Errorf("%+v, and before it %+v", after, got)
	}
	if _, err := Cost(t.Context(), w.Broker, w.session("dune"), d); !errors.Is(err, ErrNotMember) {
		t.Errorf("%v", err)
	}
}
