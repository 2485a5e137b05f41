package inbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

// chosen is a message with an id that its sender chose.
func chosen(session, id, body string) mail.Message {
	return mail.Message{From: session, To: "amber", Content: body, ID: id, FromSession: session}
}

func TestTwoSendersMayUseOneID(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, chosen("birch", "job-1", "of birch"))
	stored, err := m.Deliver(t.Context(), chosen("coral", "job-1", "of coral"))
	if err != nil || stored.Already[0] || stored.Messages[0].Content != "of coral" {
		t.Fatalf("the second sender was told %+v, %v", stored, err)
	}
	if got := peek(t, m); got != "of birch of coral" {
		t.Errorf("waiting %q", got)
	}
	wantStates(t, m, "job-1", "birch waiting", "coral waiting")
	l := lease(t, m)
	if bodies(l.Messages) != "of birch of coral" || l.Messages[1].ID != "job-1" {
		t.Fatalf("leased %+v", l.Messages)
	}
	if err := l.Ack(t.Context(), l.Messages[1].Handle()); err != nil {
		t.Fatal(err)
	}
	wantStates(t, m, "job-1", "birch waiting", "coral archived")
	if got, err := drain(t.Context(), m, "test"); err != nil || bodies(got) != "of birch" {
		t.Fatalf("drained %q, %v", bodies(got), err)
	}
	wantStates(t, m, "job-1", "birch archived", "coral archived")
	if h, err := m.archive.History(t.Context(), 9); err != nil || len(h) != 2 {
		t.Errorf("history %d, %v", len(h), err)
	}
}

func wantStates(t *testing.T, m *Mailbox, id string, want ...string) {
	t.Helper()
	found, err := m.Find(t.Context(), id)
	var got []string
	for _, st := range found {
		got = append(got, st.Message.From+" "+st.Where)
	}
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s is %q, %v, want %q", id, got, err, want)
	}
}

func TestAnIDIsOneMessageOfItsSender(t *testing.T) {
	msg := chosen("birch", "job-1", "one")
	other := chosen("birch", "job-1", "two")
	for _, read := range []bool{false, true} {
		for _, ephemeral := range []bool{false, true} {
			m, _ := newBox(t)
			msg.Ephemeral, other.Ephemeral = ephemeral, ephemeral
			deliver(t, m, msg)
			if read {
				if _, err := drain(t.Context(), m, "test"); err != nil {
					t.Fatal(err)
				}
			}
			again := msg
			again.From = "renamed"
			stored, err := m.Deliver(t.Context(), again)
			if err != nil || !stored.Already[0] {
				t.Errorf("read %v, ephemeral %v: repeated: %+v, %v", read, ephemeral, stored, err)
			}
			_, err = m.Deliver(t.Context(), letter("beside"), other)
			var taken *IDTakenError
			if !errors.As(err, &taken) && !(read && ephemeral) {
				t.Errorf("read %v, ephemeral %v: other content: %v", read, ephemeral, err)
			}
			want := "one"
			if read {
				want = ""
			}
			if read && ephemeral {
				want = "beside" // its content is not known any more
			}
			if got := peek(t, m); got != want {
				t.Errorf("read %v, ephemeral %v: waiting %q", read, ephemeral, got)
			}
		}
	}
}

func TestOneCallKnowsItsOwnIDs(t *testing.T) {
	m, _ := newBox(t)
	msg := chosen("birch", "job-1", "one")
	stored, err := m.Deliver(t.Context(), msg, msg, chosen("coral", "job-1", "two"))
	if err != nil || !slices.Equal(stored.Already, []bool{false, true, false}) {
		t.Errorf("stored %+v, %v", stored, err)
	}
	if got := peek(t, m); got != "one two" {
		t.Errorf("waiting %q", got)
	}
	var taken *IDTakenError
	if _, err := m.Deliver(t.Context(), chosen("dune", "x", "one"), chosen("dune", "x", "two")); !errors.As(err, &taken) {
		t.Errorf("two contents in one call: %v", err)
	}
}

func TestOfAnEphemeralMessageOnlyItsIDStays(t *testing.T) {
	m, root := newBox(t)
	msg := chosen("birch", "job-1", "secret")
	msg.Ephemeral = true
	plain := letter("also secret")
	plain.Ephemeral = true
	deliver(t, m, msg, plain)
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(root, "archive", "amber.jsonl"))
	if err != nil || strings.Contains(string(file), "secret") || strings.Contains(string(file), "content") || strings.Count(string(file), "\n") != 1 {
		t.Errorf("archive %q, %v", file, err)
	}
	wantStates(t, m, "job-1", "birch archived")
	if h, err := m.archive.History(t.Context(), 9); err != nil || len(h) != 0 {
		t.Errorf("history %+v, %v", h, err)
	}
	if st, err := findOne(t, m, "job-1"); err != nil || st.By != "test" {
		t.Errorf("state %+v, %v", st, err)
	}
}

// A file written by others has one id for several messages: none of them is lost, whoever dies.
func TestForeignMessagesWithOneIDStayApart(t *testing.T) {
	line := func(from, body string) string {
		return fmt.Sprintf(`{"from_alias":%q,"to_alias":"amber","content":%q,"message_id":"same","ts":1.0}`, from, body)
	}
	file := "[" + strings.Join([]string{line("birch", "a"), line("birch", "b"), line("coral", "a"), line("birch", "a")}, ",") + "]"
	for _, dies := range []bool{false, true} {
		m, root := newBox(t)
		plantFile(t, root, "amber.inbox.json", file)
		deliver(t, m, letter("last"))
		for _, step := range []struct {
			want string
			read int // which of them
		}{{"a b a last", 2}, {"a b last", 1}, {"a last", 1}, {"a", 0}} {
			l := lease(t, m)
			if got := bodies(l.Messages); got != step.want {
				t.Fatalf("dies %v: leased %q, want %q", dies, got, step.want)
			}
			one := l.Messages[step.read]
			if dies { // between the archive and the removal
				if err := m.archive.Append(t.Context(), "test", []mail.Message{one}, l.since()); err != nil {
					t.Fatal(err)
				}
				if err := l.Release(); err != nil {
					t.Fatal(err)
				}
			} else if err := l.Ack(t.Context(), one.Handle()); err != nil {
				t.Fatal(err)
			}
		}
		if l := lease(t, m); len(l.Messages) != 0 {
			t.Errorf("dies %v: left %q", dies, bodies(l.Messages))
		}
		if h, err := m.archive.History(t.Context(), 9); err != nil || len(h) != 4 {
			t.Errorf("dies %v: history %d, %v", dies, len(h), err)
		}
		if waits, err := m.Waiting(); waits || err != nil {
			t.Errorf("dies %v: waits %v, %v", dies, waits, err)
		}
	}
}

// Many processes use one id at once, two senders and two contents each: what was acknowledged is
// there, once.
func TestACrowdWithOneIDIsToldTheTruth(t *testing.T) {
	m, root := newBox(t)
	lk := held(t, m)
	type job struct {
		msg  mail.Message
		said <-chan sent
	}
	var jobs []job
	for i := range 24 {
		msg := chosen([]string{"birch", "coral"}[i%2], "job-1", []string{"one", "two"}[i/2%2])
		jobs = append(jobs, job{msg, send(t.Context(), sender(t, root), msg)})
	}
	awaitQueued(t, root, len(jobs))
	lk.Release()
	first, kept := map[string]int{}, map[string]string{}
	for _, j := range jobs {
		s := <-j.said
		var taken *IDTakenError
		switch {
		case errors.As(s.err, &taken):
			if taken.From != j.msg.From {
				t.Errorf("%s was told of %s", j.msg.From, taken.From)
			}
		case s.err != nil:
			t.Error(s.err)
		default:
			if was := kept[j.msg.From]; was != "" && was != j.msg.Content {
				t.Errorf("both contents of %s were acknowledged", j.msg.From)
			}
			kept[j.msg.From] = j.msg.Content
			if !s.Already[0] {
				first[j.msg.From]++
			}
		}
	}
	if first["birch"] != 1 || first["coral"] != 1 {
		t.Errorf("told to be the first: %v", first)
	}
	var waiting []string
	for _, st := range must(m.Find(t.Context(), "job-1")) {
		waiting = append(waiting, st.Message.From+" "+st.Message.Content)
	}
	slices.Sort(waiting)
	if want := []string{"birch " + kept["birch"], "coral " + kept["coral"]}; !slices.Equal(waiting, want) {
		t.Errorf("waiting %q, want %q", waiting, want)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What an ack moves into the archive while somebody looks is never nowhere.
func TestAMessageIsFoundWhileItIsArchived(t *testing.T) {
	m, _ := newBox(t)
	for i := range 40 {
		id := fmt.Sprintf("job-%d", i)
		deliver(t, m, chosen("birch", id, strings.Repeat("x", 2000)))
		l := lease(t, m)
		done := make(chan error)
		go func() { done <- l.Ack(t.Context(), Handles(l.Messages)...) }()
		for running := true; running; {
			select {
			case err := <-done:
				if running = false; err != nil {
					t.Fatal(err)
				}
			default:
			}
			if found, err := m.Find(t.Context(), id); err != nil || len(found) != 1 {
				t.Fatalf("%s: found %+v, %v", id, found, err)
			}
		}
	}
}

func TestALookupParsesOnlyTheFileThatHasTheID(t *testing.T) {
	m, _ := newBox(t)
	for i := range 500 {
		deliver(t, m, letter(fmt.Sprintf("%03d%s", i, strings.Repeat("x", 1000))))
	}
	deliver(t, m, chosen("birch", "job-1", "one"))
	holds := mail.HoldsID(map[string]bool{"job-1": true}, nil)
	seen := 0
	err := m.oldestFirst(holds, func(mf *mailFile) (more bool) {
		seen += len(mf.msgs)
		return true
	})
	if err != nil || seen == 0 || seen > 100 {
		t.Errorf("%d messages were parsed, %v", seen, err)
	}
	wantStates(t, m, "job-1", "birch waiting")
}

func TestALegacyIDIsFoundInEveryPlace(t *testing.T) {
	m, root := newBox(t)
	plantFile(t, root, "amber.inbox.json", `[{"from_alias":"b","to_alias":"a","content":"ok"}]`)
	id := must(m.Peek(t.Context()))[0].ID
	wantStates(t, m, id, "b waiting")
	l := lease(t, m)
	wantStates(t, m, id, "b leased")
	if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
		t.Fatal(err)
	}
	wantStates(t, m, id, "b archived")
}

// Two ephemeral messages of one sender and id come together when mail is moved. One is read, the
// reader dies, and the other waits: the record of the first is not its own.
func TestTheRecordOfAnEphemeralMessageHidesNoOther(t *testing.T) {
	m, _ := newBox(t)
	one, two := chosen("birch", "job-1", "one"), chosen("birch", "job-1", "two")
	one.Ephemeral, one.TS, two.Ephemeral, two.TS = true, 1.5, true, 2.5
	deliver(t, m, one)
	if stored, err := m.Move(t.Context(), two, two); err != nil || !slices.Equal(stored.Already, []bool{false, true}) {
		t.Fatalf("moved: %+v, %v", stored, err)
	}
	l := lease(t, m)
	if err := m.archive.Append(t.Context(), "test", l.Messages[:1], l.since()); err != nil {
		t.Fatal(err)
	}
	l.Release() // it was killed before it could remove anything
	wantStates(t, m, "job-1", "birch archived", "birch waiting")
	if got, err := drain(t.Context(), m, "test"); err != nil || bodies(got) != "two" {
		t.Errorf("drained %q, %v", bodies(got), err)
	}
	wantStates(t, m, "job-1", "birch archived", "birch archived")
}

// Two sessions had one alias, one after the other, and chose one id.
func TestTwoSessionsWithOneAliasMayUseOneID(t *testing.T) {
	for _, ephemeral := range []bool{false, true} {
		for _, apart := range []bool{false, true} {
			m, _ := newBox(t)
			for _, session := range []string{"s1", "s2"} {
				msg := chosen(session, "job-1", strings.Repeat("x", 100))
				msg.From, msg.Ephemeral, msg.TS = "birch", ephemeral, 1.5
				stored, err := m.Deliver(t.Context(), msg)
				if err != nil || stored.Already[0] {
					t.Fatalf("%s was told %+v, %v", session, stored, err)
				}
				if apart && session == "s1" {
					if _, err := drain(t.Context(), m, "test"); err != nil {
						t.Fatal(err)
					}
					wantStates(t, m, "job-1", "birch archived")
				}
			}
			want, waits := 2, []string{"birch waiting", "birch waiting"}
			if apart {
				want, waits[0] = 1, "birch archived"
			}
			wantStates(t, m, "job-1", waits...)
			again := chosen("s2", "job-1", strings.Repeat("x", 100))
			again.From, again.Ephemeral = "birch", ephemeral
			if stored, err := m.Deliver(t.Context(), again); err != nil || !stored.Already[0] {
				t.Errorf("repeated: %+v, %v", stored, err)
			}
			if waiting, err := m.Peek(t.Context()); err != nil || len(waiting) != want {
				t.Errorf("ephemeral %v, apart %v: waiting %d, %v", ephemeral, apart, len(waiting), err)
			}
			if got, err := drain(t.Context(), m, "test"); err != nil || len(got) != want {
				t.Errorf("ephemeral %v, apart %v: drained %d, %v", ephemeral, apart, len(got), err)
			}
			wantStates(t, m, "job-1", "birch archived", "birch archived")
		}
	}
}
