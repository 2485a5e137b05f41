package outside

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/permission"
)

func TestAnAnswerReachesItsSenderAndIsHanded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, ci := w.session("amber"), w.outside("ci")
	s := w.listen("ci", "")
	asked := w.send(ci, mail.Message{To: "amber", Content: "is it built?"}, mail.Origin{ChatID: "7", Identity: "max"})
	got, err := w.b.Received(t.Context(), amber, asked)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.b.Reply(t.Context(), amber, got, mail.Message{Content: "yes\nid: 5", ID: "m-1"})
	if err != nil {
		t.Fatal(err)
	}
	reply := s.want("reply")
	for field, want := range map[string]any{"message_id": r.ID, "in_reply_to": asked, "from_alias": "amber", "text": "yes\nid: 5", "chat_id": "7", "identity": "max"} {
		if reply[field] != want {
			t.Errorf("%s is %v, want %v", field, reply[field], want)
		}
	}
	w.handed(ci, "m-1")
	if st := w.status("m-1"); st.State != sessions.Handed || st.By != inbox.ByEvents {
		t.Errorf("its status is %s by %s", st.State, st.By)
	}
}

func TestAReaderThatComesBackMissesNothingAndGetsNothingTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, ci := w.session("amber"), w.outside("ci")
	w.answer(amber, ci, "m-0", "before anybody looked")
	first := w.listen("ci", "")
	wantIDs(t, first.replies(1), "m-0")
	w.answer(amber, ci, "m-1", "one")
	wantIDs(t, first.replies(1), "m-1")
	first.marked()
	first.body.Close()
	w.handed(ci, "m-1")
	other := w.listen("ci", "") // has the live ones alone
	w.answer(amber, ci, "m-2", "two")
	wantIDs(t, other.replies(1), "m-2")
	w.answer(amber, ci, "m-3", "three")
	wantIDs(t, other.replies(1), "m-3")
	back := w.listen("ci", first.id)
	wantIDs(t, back.replies(2), "m-2", "m-3")
	w.answer(amber, ci, "m-4", "four")
	wantIDs(t, back.replies(1), "m-4")
	wantIDs(t, other.replies(1), "m-4")
	// Another daemon, which knows nothing of the one before.
	w.stop()
	w.answer(amber, ci, "m-5", "five")
	w.serve()
	late := w.listen("ci", first.id)
	wantIDs(t, late.replies(4), "m-2", "m-3", "m-4", "m-5")
	again := w.listen("ci", back.id)
	ids := again.replies(1)
	if ids[0] == "m-4" { // back has handed it over itself, and was closed before the id that follows
		ids = again.replies(1)
	}
	wantIDs(t, ids, "m-5")
}

// Of many that are written before they are acknowledged, each has an id of its own.
func TestAStreamThatBreaksInTheMiddleOfManyGoesOnThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, ci := w.session("amber"), w.outside("ci")
	all := w.answers(amber, ci, 3*batch, 1)
	s := w.listen("ci", "")
	wantIDs(t, s.replies(len(all)), all...)
	s.marked()
	s.body.Close()
	s = w.listen("ci", s.id)
	w.answer(amber, ci, "m-last", "x")
	wantIDs(t, s.replies(1), "m-last")
}

func TestManyListenersOfASenderAllGetEachAnswerInOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, ci := w.session("amber"), w.outside("ci")
	const listeners, answers = 200, 8
	var streams []*stream
	for range listeners {
		streams = append(streams, w.listen("ci", ""))
	}
	var want []string
	for i := range answers {
		want = append(want, fmt.Sprint("m-", i))
		w.answer(amber, ci, want[i], strings.Repeat("x", 2000))
	}
	var readers sync.WaitGroup
	for _, s := range streams {
		readers.Go(func() { wantIDs(t, s.replies(answers), want...) })
	}
	readers.Wait()
}

// A client that does not read holds up nobody for longer than one write may take, and then its
// stream is over.
func TestAClientThatDoesNotReadIsLeftBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write = 300 * time.Millisecond
	w.serve()
	amber, ci := w.session("amber"), w.outside("ci")
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/events"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer ci\r\n\r\n", conn.RemoteAddr())
	if line, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
	good := w.listen("ci", "")
	const many = 40 // with 200 KiB each that is more than the kernel keeps for it
	got := make(chan []string)
	go func() { got <- good.replies(many) }()
	want := w.answers(amber, ci, many, 200<<10)
	wantIDs(t, <-got, want...)
	<-w.ended
	w.answer(amber, ci, "m-last", "x") // the others go on
	wantIDs(t, good.replies(1), "m-last")
}

// Who has one key sees nothing of what the others may see.
func TestEverybodySeesTheirOwnAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, birch := w.session("amber"), w.session("birch")
	ci, desk := w.outside("ci"), w.outside("desk")
	streams := map[string]*stream{}
	for _, who := range []string{"ci", "desk"} {
		streams[who] = w.listen(who, "")
	}
	secret := func(n int) string { return fmt.Sprint("secret-", n) }
	w.answer(amber, ci, "to-ci", secret(1))
	w.answer(amber, desk, "to-desk", secret(2))
	if _, err := w.b.Send(t.Context(), birch, mail.Message{To: "amber", ID: "inside", Content: secret(3)}); err != nil {
		t.Fatal(err)
	}
	w.send(ci, mail.Message{To: "birch", ID: "from-ci", Content: secret(4)}, mail.Origin{})
	for _, s := range []sessions.Session{amber, birch} {
		if err := w.store.Ask(t.Context(), permission.Request{ID: "abcde", Session: s.ID, Alias: s.Alias, Tool: "Run", Input: "input of " + s.Alias}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.b.Describe(t.Context(), birch.ID, secret(5)); err != nil { // the last thing that happens
		t.Fatal(err)
	}
	w.answer(amber, ci, "end-ci", "end")
	w.answer(amber, desk, "end-desk", "end")
	for who, c := range map[string]struct {
		end   func(name string, data map[string]any) bool
		has   []string
		hides []string
	}{
		"ci":   {until("reply", "end-ci"), []string{"secret-1", "from-ci"}, []string{"secret-2", "secret-3", "secret-4", "secret-5", "inside", "to-desk", "input of"}},
		"desk": {until("permission", "abcde"), []string{"secret-2"}, []string{"secret-1", "secret-3", "secret-4", "secret-5", "inside", "from-ci", "to-ci", "birch"}},
	} {
		all := ""
		ended := map[string]bool{}
		for !ended["end"] || !ended["all"] {
			name, data := streams[who].next()
			all += fmt.Sprint(name, data, "\n")
			ended["end"] = ended["end"] || c.end(name, data)
			ended["all"] = true
			for _, word := range c.has {
				ended["all"] = ended["all"] && strings.Contains(all, word)
			}
		}
		for _, word := range c.hides {
			if strings.Contains(all, word) {
				t.Errorf("%.5s sees %q: %s", who, word, all)
			}
		}
	}
}

func until(name, id string) func(string, map[string]any) bool {
	return func(is string, data map[string]any) bool {
		return is == name && (data["message_id"] == id || data["request_id"] == id)
	}
}

func TestWhoMayDecideIsToldOfRequestsAndHowTheyEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber := w.session("amber")
	ask := func(id string) {
		t.Helper()
		r := permission.Request{ID: id, Session: amber.ID, Alias: "amber", Tool: "Run", Description: "list the files", Input: `{"command":"ls"}`}
		if err := w.store.Ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	ask("abcde")
	s := w.listen("desk", "")
	if got := s.want("permission"); got["request_id"] != "abcde" || got["tool_name"] != "Run" || got["input_preview"] != `{"command":"ls"}` || got["alias"] != "amber" {
		t.Errorf("%v", got)
	}
	ask("bcdef")
	if got := s.want("permission", "verdict"); got["request_id"] != "bcdef" {
		t.Errorf("%v", got)
	}
	if _, err := w.store.Decide(t.Context(), "abcde", permission.Verdict{Allow: true, By: "dana", Via: "page", Proof: "login"}); err != nil {
		t.Fatal(err)
	}
	if got := s.want("permission", "verdict"); got["request_id"] != "abcde" || got["state"] != "allowed" || got["by"] != "dana" {
		t.Errorf("%v", got)
	}
	if err := w.store.Settle(t.Context(), amber.ID, "bcdef", permission.StateTerminal); err != nil {
		t.Fatal(err)
	}
	if got := s.want("permission", "verdict"); got["request_id"] != "bcdef" || got["state"] != "terminal" {
		t.Errorf("%v", got)
	}
	ask("cdefg")
	s.want("permission")
	again := w.listen("desk", s.id) // the open ones alone
	if got := again.want("permission", "verdict"); got["request_id"] != "cdefg" {
		t.Errorf("%v", got)
	}
}

// Mail waits for a sender, and a suspended process holds the lock of the sender's mailbox.
func TestALockedMailboxHoldsUpOnlyItsMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, desk := w.session("amber"), w.outside("desk")
	w.answer(amber, desk, "m-1", "waits")
	lk, err := atomicfile.Acquire(t.Context(), w.b.Dir(), desk.ID+".inbox.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lk.Release()
	w.serve()
	s := w.listen("desk", "")
	for _, id := range []string{"abcde", "bcdef"} { // the stream may write the first one before it looks for mail
		if err := w.store.Ask(t.Context(), permission.Request{ID: id, Session: amber.ID, Alias: "amber", Tool: "Run", Input: "ls"}); err != nil {
			t.Fatal(err)
		}
		if got := s.want("permission", "reply"); got["request_id"] != id {
			t.Errorf("%v", got)
		}
	}
	lk.Release()
	wantIDs(t, w.listen("desk", "").replies(1), "m-1") // no stream holds its turn
	wantIDs(t, s.replies(1), "m-1")                    // the stream that found the lock taken tries again, although no event wakes it
}

func TestWhatIsNotShownInFullIsSaid(t *testing.T) {
	t.Parallel()
	r := permission.Request{ID: "abcde", Alias: "amber", Tool: "Bash", Input: "one\n⋯ 9 code points elided ⋯\ntwo", Partial: true}
	if text := requestText(r); !strings.Contains(text, "NOT SHOWN IN FULL") || strings.Contains(text, "yes abcde") || !strings.Contains(text, "no abcde") {
		t.Errorf("%s", text)
	}
	w := newWorld(t)
	w.serve()
	r.Session = w.session("amber").ID
	if err := w.store.Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	s := w.listen("desk", "")
	if got := s.want("permission"); got["partial"] != true {
		t.Errorf("%v", got)
	}
	if _, err := w.store.Decide(t.Context(), "abcde", permission.Verdict{Allow: true, Partial: true, By: "dana", Via: "terminal", Proof: "older terminal"}); err != nil {
		t.Fatal(err)
	}
	if got := s.want("verdict"); got["proof"] != "older terminal" {
		t.Errorf("%v", got)
	}
}

func TestASenderIsToldWhatBecomesOfItsMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, ci := w.session("amber"), w.outside("ci")
	s := w.listen("ci", "")
	w.send(ci, mail.Message{To: "amber", ID: "m-1", Content: "hello"}, mail.Origin{})
	state := func(s *stream, want string) {
		t.Helper()
		for {
			m := s.want("status")["message"].(map[string]any)
			if m["message_id"] != "m-1" || m["to_alias"] != "amber" || m["content"] != nil {
				t.Errorf("%v", m)
			}
			if m["state"] == want {
				return
			}
		}
	}
	state(s, sessions.Queued)
	box := w.box(amber)
	l, err := box.Lease(t.Context(), "test", 1)
	if err == nil {
		err = l.Ack(t.Context(), "m-1")
	}
	if err != nil {
		t.Fatal(err)
	}
	state(s, sessions.Read)
	state(w.listen("ci", s.id), sessions.Read) // whoever comes back is told again
}

func TestEditsAndFilesAreToldAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, ci := w.session("amber"), w.outside("ci")
	s := w.listen("ci", "")
	sum := strings.Repeat("ab", 32)
	w.send(amber, mail.Message{To: ci.Alias, ID: "m-1", Content: "a draft"}, mail.Origin{ChatID: "7", Files: []mail.File{{Path: "/tmp/x", Size: 5, SHA256: sum}}})
	w.send(amber, mail.Message{To: ci.Alias, ID: "m-2", Content: "the text"}, mail.Origin{ChatID: "7", Edits: "m-1"})
	if got, err := json.Marshal(s.want("reply")["files"]); err != nil || string(got) != `[{"path":"/tmp/x","sha256":"`+sum+`","size":5}]` {
		t.Errorf("%s, %v", got, err)
	}
	if got := s.want("edit"); got["edits"] != "m-1" || got["text"] != "the text" || got["chat_id"] != "7" {
		t.Errorf("%v", got)
	}
}

// The Channels reference, "Full example": what curl -N shows.
func TestTextIsWhatTheReferenceWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, desk := w.session("amber"), w.outside("desk")
	resp := w.get("desk", "?format=text", "")
	w.answer(amber, desk, "m-1", "two\nlines\x1b[2J")
	text := bufio.NewReader(resp.Body)
	want := func(lines ...string) {
		t.Helper()
		for _, want := range lines {
			if line, err := text.ReadString('\n'); err != nil || line != want+"\n" {
				t.Errorf("%q, %v; want %q", line, err, want)
			}
		}
	}
	want(": connected", "", "data: Reply to 7: two", "data:     lines"+mail.Visible("\x1b", "")+"[2J", "")
	if err := w.store.Ask(t.Context(), permission.Request{ID: "abcde", Session: amber.ID, Alias: "amber", Tool: "Run", Description: "list\n\nReply \"yes zzzzz\"", Input: `"rm -r x"`}); err != nil {
		t.Fatal(err)
	}
	want("data: amber wants to run Run: list", "data:     ", `data:     Reply "yes zzzzz"`, `data:     "rm -r x"`, "data: ", `data: Reply "yes abcde" or "no abcde"`, "")
	if got := w.get("desk", "?format=xml", "").StatusCode; got != http.StatusBadRequest {
		t.Errorf("status %d", got)
	}
}

// A client may say anything for the id of its last event.
func TestAForeignPositionIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, ci := w.session("amber"), w.outside("ci")
	w.answer(amber, ci, "m-1", "x")
	for i, id := range []string{"", "x", "-1", "a.b.c", "1.5", "9223372036854775808", strings.Repeat("9", 5000), "0/../x"} {
		s := w.listen("ci", id)
		id := fmt.Sprint("n-", i)
		w.answer(amber, ci, id, "x")
		want := []string{id}
		if i == 0 {
			want = []string{"m-1", id}
		}
		wantIDs(t, s.replies(len(want)), want...)
		s.body.Close()
		w.handed(ci, id)
	}
	// Behind the end: the archive is another one now, so all of it is new.
	s := w.listen("ci", "999999999")
	wantIDs(t, s.replies(2), "m-1", "n-0")
}

func TestAStreamOfARootThatIsMadeAnewEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.session("amber")
	s := w.listen("ci", "")
	err := os.Rename(w.b.Root(), w.b.Root()+".old")
	for err == nil && os.RemoveAll(w.b.Root()+".old") != nil { // the daemon may have just made a file there
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(s.r); err != nil {
		t.Error(err)
	}
	if got := w.get("ci", "", s.id).StatusCode; got != http.StatusServiceUnavailable {
		t.Errorf("status %d for a root that is gone", got)
	}
	fresh, err := broker.Open(broker.Config{Root: filepath.Join(w.dir, "root")})
	if err != nil {
		t.Fatal(err)
	}
	w.t.Cleanup(func() { fresh.Close() })
	w.b = fresh
	amber, ci := w.session("amber"), w.outside("ci")
	again := w.listen("ci", s.id)
	w.answer(amber, ci, "m-1", "x")
	wantIDs(t, again.replies(1), "m-1")
}

// Another reader has all mail of a sender in hand, and puts it back.
func TestAllStreamsGetMailThatAnotherReaderPutBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	amber, desk := w.session("amber"), w.outside("desk")
	w.answer(amber, desk, "m-1", "x")
	box := w.box(desk)
	lease, err := box.Lease(t.Context(), "test", 1)
	if err != nil || len(lease.Messages) != 1 {
		t.Fatal(lease, err)
	}
	var streams []*stream
	for range 5 {
		streams = append(streams, w.listen("desk", "0"))
	}
	if err := w.store.Ask(t.Context(), permission.Request{ID: "abcde", Session: amber.ID, Alias: "amber", Tool: "Run", Input: "ls"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range streams { // each stream has looked for mail at least once
		if got := s.want("permission", "reply"); got["request_id"] != "abcde" {
			t.Errorf("%v", got)
		}
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	for _, s := range streams {
		wantIDs(t, s.replies(1), "m-1")
	}
}
