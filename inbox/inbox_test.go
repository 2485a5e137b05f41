package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

func openAt(path string) (*Mailbox, error) {
	root, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return Open(root, "amber", Config{})
}

func newBox(t testing.TB) (*Mailbox, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	m, err := openAt(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.root.Close() })
	return m, root
}

func letter(body string) mail.Message { return mail.Message{From: "birch", To: "amber", Content: body} }

func deliver(t *testing.T, m *Mailbox, msgs ...mail.Message) []mail.Message {
	t.Helper()
	stored, err := m.Deliver(t.Context(), msgs...)
	if err != nil {
		t.Fatal(err)
	}
	return stored.Messages
}

// findOne gives the state of the only message with this id, or none.
func findOne(t *testing.T, m *Mailbox, id string) (Found, error) {
	t.Helper()
	found, err := m.Find(t.Context(), id)
	if len(found) == 0 {
		return Found{}, err
	}
	if len(found) > 1 {
		t.Errorf("%d messages with the id %s", len(found), id)
	}
	return found[0], err
}

func lease(t *testing.T, m *Mailbox) *Lease {
	t.Helper()
	l, err := m.Lease(t.Context(), "test", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// drain is a reader that needs no second look.
func drain(ctx context.Context, m *Mailbox, by string) ([]mail.Message, error) {
	l, err := m.Lease(ctx, by, 1<<30)
	if err != nil {
		return nil, err
	}
	return l.Messages, l.Ack(ctx, Handles(l.Messages)...)
}

func bodies(msgs []mail.Message) string {
	var s []string
	for _, m := range msgs {
		s = append(s, m.Content)
	}
	return strings.Join(s, " ")
}

func peek(t *testing.T, m *Mailbox) string {
	t.Helper()
	msgs, err := m.Peek(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return bodies(msgs)
}

// archivedBodies gives what was read, oldest first.
func archivedBodies(t *testing.T, m *Mailbox) string {
	t.Helper()
	all, err := m.archive.History(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, a := range all {
		text = a.Content + " " + text
	}
	return text
}

func TestDrainKeepsOrderAndArchives(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, letter("a"))
	deliver(t, m, letter("b"), letter("c"))
	got, err := drain(t.Context(), m, "poll_inbox")
	if err != nil || bodies(got) != "a b c" {
		t.Fatalf("drained %q, %v", bodies(got), err)
	}
	if waiting, err := m.Waiting(); waiting || err != nil {
		t.Errorf("waiting after a drain: %v, %v", waiting, err)
	}
	hist, err := m.archive.History(t.Context(), 2)
	if err != nil || len(hist) != 2 || hist[0].Content != "c" || hist[0].DrainedBy != "poll_inbox" {
		t.Errorf("history %+v, %v", hist, err)
	}
	line, _ := os.ReadFile(filepath.Join(root, "archive", "amber.jsonl"))
	if !strings.HasPrefix(string(line), `{"drained_at":`) {
		t.Errorf("archive line %q", line)
	}
}

func TestReleasedMailIsOfferedFirst(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, letter("a"))
	l := lease(t, m)
	deliver(t, m, letter("b"))
	if got := peek(t, m); got != "b" {
		t.Errorf("peek beside a live lease: %q", got)
	}
	if other := lease(t, m); bodies(other.Messages) != "b" {
		t.Errorf("second lease %q", bodies(other.Messages))
	} else if err := other.Release(); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if got := bodies(lease(t, m).Messages); got != "a b" {
		t.Errorf("after the release %q", got)
	}
}

func TestPartialAckLeavesTheRestInOrder(t *testing.T) {
	for _, size := range []int{1, 20_000} { // within the inbox, and beyond it
		m, _ := newBox(t)
		pad := strings.Repeat("x", size)
		stored := deliver(t, m, letter("a"+pad), letter("b"+pad), letter("c"+pad), letter("d"+pad))
		l := lease(t, m)
		deliver(t, m, letter("e"+pad))
		if err := l.Ack(t.Context(), stored[0].ID); err != nil {
			t.Fatal(err)
		}
		got, err := drain(t.Context(), m, "test")
		if err != nil || strings.ReplaceAll(bodies(got), pad, "") != "b c d e" {
			t.Errorf("size %d: %q, %v", size, strings.ReplaceAll(bodies(got), pad, ""), err)
		}
	}
}

func TestInterruptedAckIsNotHandedOverAgain(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, letter("a"), letter("b"))
	l := lease(t, m)
	// The process dies after the archive write and before the files are removed.
	if err := m.archive.Append(t.Context(), "test", l.Messages[:1], 0); err != nil {
		t.Fatal(err)
	}
	l.Release()
	if got := peek(t, m); got != "b" {
		t.Errorf("peek %q", got)
	}
	if got, err := drain(t.Context(), m, "test"); err != nil || bodies(got) != "b" {
		t.Errorf("drained %q, %v", bodies(got), err)
	}
	if hist, _ := m.archive.History(t.Context(), 9); len(hist) != 2 {
		t.Errorf("archive has %d records", len(hist))
	}
}

func TestAnInboxThatIsFullMovesBehindAndTheOrderHolds(t *testing.T) {
	m, root := newBox(t)
	var want []string
	for i := range 300 {
		body := fmt.Sprintf("%03d%s", i, strings.Repeat("y", 500))
		want = append(want, body)
		deliver(t, m, letter(body))
	}
	info, err := os.Stat(filepath.Join(root, "amber.inbox.json"))
	if err != nil || info.Size() > maxInbox {
		t.Fatalf("inbox %v, %v", info.Size(), err)
	}
	if got, err := drain(t.Context(), m, "test"); err != nil || bodies(got) != strings.Join(want, " ") {
		t.Errorf("drained %d, %v", len(got), err)
	}
}

func TestFullMailboxRefusesAndLosesNothing(t *testing.T) {
	m, _ := newBox(t)
	m.most = 200
	pad := strings.Repeat("z", 500)
	for range 200 {
		deliver(t, m, letter(pad))
	}
	if _, err := m.Deliver(t.Context(), letter("one more")); !errors.Is(err, ErrFull) {
		t.Fatalf("error %v", err)
	}
	if got, err := drain(t.Context(), m, "test"); err != nil || len(got) != 200 {
		t.Errorf("drained %d, %v", len(got), err)
	}
}

func TestBadBodiesAreRefused(t *testing.T) {
	m, root := newBox(t)
	for body, want := range map[string]error{
		"\xff": mail.ErrBody, "a\x00b": mail.ErrBody, strings.Repeat("a", 257<<10): mail.ErrTooLarge,
		strings.Repeat("a", 257<<10) + "é"[:1]: mail.ErrTooLarge, // cut off in the middle of a character
	} {
		if _, err := m.Deliver(t.Context(), letter(body)); !errors.Is(err, want) {
			t.Errorf("body %.5q: %v", body, err)
		}
	}
	long := letter("x")
	long.InReplyTo = strings.Repeat("a", 129)
	if _, err := m.Deliver(t.Context(), long); !errors.Is(err, mail.ErrTooLarge) || !strings.Contains(err.Error(), "in_reply_to") {
		t.Errorf("a long in_reply_to: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "amber.inbox.json")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

func TestRetryWithTheSameIDStoresOnce(t *testing.T) {
	m, _ := newBox(t)
	msg := letter("a")
	msg.ID = "job-1"
	other := letter("b")
	for i := range 2 {
		if stored, err := m.Deliver(t.Context(), other, msg); err != nil || stored.Already[0] || stored.Already[1] != (i == 1) {
			t.Errorf("delivery %d: %+v, %v", i, stored, err)
		}
	}
	if got := peek(t, m); got != "b a b" {
		t.Errorf("waiting %q", got)
	}
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	deliver(t, m, msg)
	if got := peek(t, m); got != "" {
		t.Errorf("read mail was stored again: %q", got)
	}
}

func TestDamagedInboxIsSetAsideAndTheRestDelivered(t *testing.T) {
	good := `{"from_alias":"b","to_alias":"a","content":"ok %d"}`
	for name, file := range map[string]string{
		"cut":     "[\n" + fmt.Sprintf(good, 1) + ",\n" + fmt.Sprintf(good, 2) + ",\n{\"from_al",
		"record":  "[" + fmt.Sprintf(good, 1) + `,{"from_alias":7},` + fmt.Sprintf(good, 2) + "]",
		"garbage": "[\n" + fmt.Sprintf(good, 1) + ",\n\x00\x00{\"a,,,\n" + fmt.Sprintf(good, 2) + "]",
	} {
		for _, sendFirst := range []bool{false, true} {
			m, root := newBox(t)
			if err := os.WriteFile(filepath.Join(root, "amber.inbox.json"), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			want := "ok 1 ok 2"
			var told bytes.Buffer
			m.log = slog.New(slog.NewTextHandler(&told, nil))
			if sendFirst {
				deliver(t, m, letter("new"))
				want += " new"
			}
			got, err := drain(t.Context(), m, "test")
			if err != nil || bodies(got) != want {
				t.Errorf("%s, send first %v: %q, %v", name, sendFirst, bodies(got), err)
			}
			aside, _ := filepath.Glob(filepath.Join(root, "amber.inbox.json.corrupt-*"))
			if len(aside) != 1 || !strings.Contains(told.String(), "copy="+filepath.Base(aside[0])) {
				t.Errorf("%s, send first %v: %d copies, told %q", name, sendFirst, len(aside), &told)
				continue
			}
			if kept, _ := os.ReadFile(aside[0]); !strings.HasPrefix(string(kept), strings.TrimSuffix(file, "]")) {
				t.Errorf("%s: the copy differs: %q", name, kept)
			}
		}
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	in := `{"from_alias":"a","to_alias":"b","content":"<&>","ts":5,"enc_status":{"x": [1, 2]},"kind":9}`
	var m mail.Message
	if err := json.Unmarshal([]byte(in), &m); err != nil {
		t.Fatal(err)
	}
	out, _ := m.MarshalJSON()
	want := `{"from_alias":"a","to_alias":"b","content":"<&>","ts":5.0,"enc_status":{"x":[1,2]}}`
	if string(out) != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

func TestEqualMessagesWithoutIDsStayTwo(t *testing.T) {
	m, root := newBox(t)
	file := `[{"from_alias":"b","to_alias":"a","content":"ok"},{"from_alias":"b","to_alias":"a","content":"ok"}]`
	if err := os.WriteFile(filepath.Join(root, "amber.inbox.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	l := lease(t, m)
	if len(l.Messages) != 2 || l.Messages[0].ID == l.Messages[1].ID {
		t.Fatalf("leased %+v", l.Messages)
	}
	if err := l.Ack(t.Context(), l.Messages[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := peek(t, m); got != "ok" {
		t.Errorf("left %q", got)
	}
}

func TestPlantedLinksAndPipesAreRefused(t *testing.T) {
	m, root := newBox(t)
	if err := os.WriteFile(filepath.Join(root, "other"), []byte("[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", filepath.Join(root, "amber.inbox.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Deliver(t.Context(), letter("a")); !errors.Is(err, atomicfile.ErrNotOurs) {
		t.Errorf("symbolic link: %v", err)
	}
	if _, err := Open(m.root, "../x", Config{}); err == nil {
		t.Error("a session id with a slash was taken")
	}
}

func TestFindFollowsTheMessage(t *testing.T) {
	m, _ := newBox(t)
	id := deliver(t, m, letter("a"))[0].ID
	where := func(want string) {
		t.Helper()
		st, err := findOne(t, m, id)
		if err != nil || st.Where != want {
			t.Errorf("state %+v, %v; want %q", st, err, want)
		}
	}
	where(Waiting)
	l := lease(t, m)
	where(Leased)
	if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
		t.Fatal(err)
	}
	where(Archived)
}

func TestLegacyPeersAreReadWithTheirEmptyFile(t *testing.T) {
	m, root := newBox(t)
	if err := os.WriteFile(filepath.Join(root, "amber.inbox.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	deliver(t, m, letter("a"))
	file, _ := os.ReadFile(filepath.Join(root, "amber.inbox.json"))
	if !strings.HasPrefix(string(file), "[\n{") || !strings.HasSuffix(string(file), "}\n]\n") {
		t.Errorf("file %q", file)
	}
}

// A reader that shows little at a time need not take a whole backlog, and the order holds.
func TestALongBacklogIsTakenInParts(t *testing.T) {
	m, _ := newBox(t)
	const count = 2000
	var all []mail.Message
	for i := range count {
		all = append(all, letter(fmt.Sprint(i)+strings.Repeat("x", 200)))
	}
	for commit := range slices.Chunk(all, 100) {
		deliver(t, m, commit...)
	}
	next, most := 0, 0
	for i := range count {
		l, err := m.Lease(t.Context(), "test", 10_000)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(l.Messages))
		if len(l.Messages) == 0 {
			break
		}
		if head, err := m.Head(t.Context(), 100); err != nil || l.More && len(head) == 0 {
			t.Fatalf("more %v, but nothing waits: %v", l.More, err)
		}
		shown := min(20, len(l.Messages))
		var ids []string
		for _, msg := range l.Messages[:shown] {
			want := fmt.Sprint(next) + "x"
			if next >= count {
				want = "late"
			}
			if !strings.HasPrefix(msg.Content, want) {
				t.Fatalf("message %d is %.8s", next, msg.Content)
			}
			ids = append(ids, msg.ID)
			next++
		}
		if err := l.Ack(t.Context(), ids...); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 && next < count { // mail that comes meanwhile waits behind
			deliver(t, m, letter("late"))
		}
	}
	if next < count {
		t.Errorf("only %d came", next)
	}
	if most > 600 {
		t.Errorf("%d messages were taken to show 20", most)
	}
}

func TestAClockThatJumpsChangesNoOrder(t *testing.T) {
	m, _ := newBox(t)
	clock := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	m.now = func() time.Time { return clock }
	for i, jump := range []time.Duration{0, -20 * 365 * 24 * time.Hour, 40 * 365 * 24 * time.Hour, -time.Hour} {
		clock = clock.Add(jump)
		deliver(t, m, letter(fmt.Sprint(i)))
	}
	l := lease(t, m)
	if got := bodies(l.Messages); got != "0 1 2 3" {
		t.Errorf("order %s", got)
	}
	clock = clock.Add(-24 * time.Hour)
	if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
		t.Fatal(err)
	}
	if got := peek(t, m); got != "" {
		t.Errorf("left %q", got)
	}
	if h, err := m.archive.History(t.Context(), 10); err != nil || len(h) != 4 || h[0].Content != "3" {
		t.Errorf("history %v, %v", h, err)
	}
}

// numbered lists the numbered files of the mailbox, the first one first.
func numbered(t *testing.T, root string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "amber.lease", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}
