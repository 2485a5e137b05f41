package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/permission"
)

const someID = "00000000-0000-4000-8000-00000000000"

// events reads what a stream tells, by the name of each.
type events struct {
	t *testing.T
	r *bufio.Reader
}

func (tab *tab) live() *events {
	resp := tab.request("GET", "/api/live", nil)
	tab.l.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		tab.l.t.Fatal(resp.Status)
	}
	return &events{tab.l.t, bufio.NewReader(resp.Body)}
}

// until reads events with a name until one is what the test waits for.
func until[T any](e *events, name string, is func(T) bool) (v T) {
	e.t.Helper()
	what := ""
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			e.t.Fatalf("waiting for %s: %v", name, err)
		}
		line = strings.TrimSpace(line)
		if n, ok := strings.CutPrefix(line, "event: "); ok {
			what = n
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || what != name {
			continue
		}
		var v T
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			e.t.Fatal(err)
		}
		if is(v) {
			return v
		}
	}
}

func always[T any](T) bool { return true }

func TestThePageFollowsTheMail(t *testing.T) {
	l := newLab(t)
	l.send(l.amber, "birch", "before")
	e := l.loggedIn().live()
	first := until(e, "now", always[now])
	if first.Me != l.me.ID || first.Alias != "dana" || first.Dir != "/home/dana/app" || len(first.Sessions) != 3 || len(first.Mails) != 1 || first.Mails[0].Text != "before" {
		t.Errorf("%+v", first)
	}
	l.send(l.birch, "amber", "after\x1b[31m\u202e")
	c := until(e, "change", func(c change) bool { return len(c.Mails) > 0 })
	if m := c.Mails[0]; m.Text != `after\u001b[31m\u202e` || m.From != "birch" || m.State != sessions.Queued || m.Session != l.amber.ID {
		t.Errorf("%+v", m)
	}
	box, err := l.b.Mailbox(l.amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := box.Lease(t.Context(), "hook", 1<<20)
	if err == nil {
		err = lease.Ack(t.Context(), inbox.Handles(lease.Messages)...)
	}
	if err != nil {
		t.Fatal(err)
	}
	until(e, "change", func(c change) bool {
		return len(c.Mails) > 0 && c.Mails[0].State == sessions.Read && c.Mails[0].By == "hook"
	})
}

func TestThePersonWritesAnswersAndReads(t *testing.T) {
	l := newLab(t)
	tab := l.loggedIn()
	draft := map[string]string{"id": someID + "1", "to": "amber", "text": "hello", "kind": "question", "tag": "urgent"}
	if r := get[receipt](tab, "POST", "/api/send", draft); r.To != "amber" || r.Again {
		t.Errorf("%+v", r)
	}
	if r := get[receipt](tab, "POST", "/api/send", draft); !r.Again {
		t.Errorf("sent again it is another message: %+v", r)
	}
	box, err := l.b.Mailbox(l.amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := box.Peek(t.Context()); err != nil || len(got) != 1 || got[0].From != "dana" || !got[0].FromPerson || got[0].Kind != "question" || got[0].Tag != "urgent" {
		t.Errorf("%+v, %v", got, err)
	}
	id := l.send(l.amber, "dana", "is it so?")
	l.send(l.birch, "dana", "not answered")
	all := get[listing](tab, "GET", "/api/search?q="+url.QueryEscape("is it"), nil)
	if len(all.Mails) != 1 || all.Mails[0].ID != id {
		t.Fatalf("%+v", all)
	}
	if got := get[map[string]string](tab, "POST", "/api/notify", map[string]string{"alias": "amber", "when": "done"}); got["text"] != "" {
		t.Errorf("asked to be told: %v", got)
	}
	if waits, err := owed.ListRequests(l.b.Registry); err != nil || len(waits) != 1 || waits[0].SID != l.amber.ID || waits[0].When != owed.Done {
		t.Errorf("waits: %+v, %v", waits, err)
	}
	other := strings.Repeat("0", len(all.Mails[0].Key)) // of a message with the same id that is not there any more
	if status, body := tab.do("POST", "/api/reply", map[string]string{"id": someID + "2", "answers": id, "key": other, "text": "it is"}); status != http.StatusNotFound {
		t.Errorf("an answer to another message than the one that was shown: %d %s", status, body)
	}
	if status, body := tab.do("GET", "/api/message?id="+id+"&key="+other, nil); status != http.StatusNotFound {
		t.Errorf("another message than the one that was shown: %d %s", status, body)
	}
	get[receipt](tab, "POST", "/api/reply", map[string]string{"id": someID + "2", "answers": id, "key": all.Mails[0].Key, "text": "it is"})
	if thread := get[listing](tab, "GET", "/api/thread?id="+id, nil); len(thread.Mails) != 2 || thread.Mails[1].Text != "it is" || thread.Mails[1].Answers != id {
		t.Errorf("%+v", thread)
	}
	mine, err := l.b.Mailbox(l.me.ID)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := mine.Peek(t.Context()); err != nil || len(left) != 1 || left[0].Content != "not answered" {
		t.Errorf("what was answered is not read: %+v, %v", left, err)
	}
	l.send(l.birch, "dana", "not shown yet")
	all = get[listing](tab, "GET", "/api/search?q="+url.QueryEscape("not answered"), nil)
	if r := get[map[string]int](tab, "POST", "/api/read", map[string]any{"keys": []string{all.Mails[0].Key, "zz"}}); r["read"] != 1 {
		t.Errorf("%v", r)
	}
	if left, err := mine.Peek(t.Context()); err != nil || len(left) != 1 || left[0].Content != "not shown yet" {
		t.Errorf("%+v, %v", left, err)
	}
	for status, drafts := range map[int][]map[string]string{
		http.StatusBadRequest:          {{"id": "x", "to": "amber", "text": "x"}, {"id": someID + "3", "to": "amber", "text": " \n"}},
		http.StatusNotFound:            {{"id": someID + "4", "to": "nobody", "text": "x"}},
		http.StatusUnprocessableEntity: {{"id": someID + "5", "to": "dana", "text": "x"}, {"id": someID + "6", "to": "amber", "text": "x", "kind": "system"}, {"id": someID + "7", "to": "amber", "text": strings.Repeat("x", 300<<10)}},
	} {
		for _, d := range drafts {
			if got, body := tab.do("POST", "/api/send", d); got != status {
				t.Errorf("%.80v: %d %s, want %d", d, got, body, status)
			}
		}
	}
}

func TestTheHistoryComesInPages(t *testing.T) {
	l := newLab(t)
	for i := range 7 {
		l.send(l.amber, "birch", fmt.Sprint("message ", i))
	}
	l.send(l.birch, "dana", "another")
	tab := l.loggedIn()
	var texts []string
	path := "/api/history?limit=3&session=" + l.amber.ID
	for before := ""; ; {
		page := get[listing](tab, "GET", path+before, nil)
		for _, m := range page.Mails {
			texts = append(texts, m.Text)
			at, _ := json.Marshal(m.TS)
			before = "&before=" + url.QueryEscape(string(at)+"/"+m.Key)
		}
		if !page.More {
			break
		}
	}
	if got := strings.Join(texts, ","); got != "message 6,message 5,message 4,message 3,message 2,message 1,message 0" {
		t.Error(got)
	}
	for _, bad := range []string{"limit=0", "limit=201", "limit=x", "before=x", "before=1", "before=1/zz", "before=NaN/00000000000000000000000000000000", "before=1/" + strings.Repeat("0", 64)} {
		if status, body := tab.do("GET", "/api/history?"+bad, nil); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}

func TestALongTextIsCutAndComesWholeWhenAskedFor(t *testing.T) {
	l := newLab(t)
	text := strings.Repeat("é", 100<<10)
	id := l.send(l.amber, "birch", text)
	tab := l.loggedIn()
	cut := get[listing](tab, "GET", "/api/history", nil).Mails[0]
	if cut.Cut != len(text) || len(cut.Text) > maxText || !strings.HasPrefix(text, cut.Text) {
		t.Errorf("%d of %d bytes, cut %d", len(cut.Text), len(text), cut.Cut)
	}
	if got := until(tab.live(), "now", func(n now) bool { return true }).Mails[0]; got.Cut != cut.Cut {
		t.Errorf("as it came, cut %d", got.Cut)
	}
	all := get[whole](tab, "GET", "/api/message?id="+id+"&key="+cut.Key, nil)
	if all.Text != text || all.Cut != 0 || len(all.Way) == 0 || all.Keeps == "" {
		t.Errorf("%d bytes, cut %d, way %q, %q", len(all.Text), all.Cut, all.Way, all.Keeps)
	}
	if status, _ := tab.do("GET", "/api/message?id="+someID+"9", nil); status != http.StatusNotFound {
		t.Errorf("of none: %d", status)
	}
}

func TestASearchThatIsCutSaysSo(t *testing.T) {
	l := newLab(t)
	tab := l.loggedIn()
	for i := range maxPage + 1 {
		l.send(l.amber, "birch", "found")
		if i < maxPage-1 {
			continue
		}
		if got := get[listing](tab, "GET", "/api/search?q=found", nil); got.More != (i == maxPage) || len(got.Mails) != maxPage {
			t.Errorf("of %d: %d, more: %v", i+1, len(got.Mails), got.More)
		}
	}
}

func TestAPermissionIsDecidedOnThePage(t *testing.T) {
	l := newLab(t)
	store := permission.Open(l.b.Dir(), l.clock.now)
	tab := l.loggedIn()
	e := tab.live()
	until(e, "asks", func(open []ask) bool { return len(open) == 0 })
	for _, s := range []sessions.Session{l.amber, l.birch} {
		if err := store.Ask(t.Context(), permission.Request{ID: "abcde", Session: s.ID, Alias: s.Alias, Tool: "Bash", Description: "run it", Input: "\"rm -r \x1b[2Jx\""}); err != nil {
			t.Fatal(err)
		}
	}
	open := until(e, "asks", func(open []ask) bool { return len(open) == 2 })
	if open[0].Tool != "Bash" || strings.Contains(open[0].Input, "\x1b") || open[0].Until <= open[0].Since {
		t.Errorf("%+v", open)
	}
	allow := map[string]any{"id": "abcde", "session": l.amber.ID, "allow": true}
	if got := get[map[string]string](tab, "POST", "/api/decide", allow); got["state"] != string(permission.StateAllowed) {
		t.Errorf("%v", got)
	}
	until(e, "asks", func(open []ask) bool { return len(open) == 1 && open[0].Session == l.birch.ID })
	if status, body := tab.do("POST", "/api/decide", allow); status != http.StatusConflict || !strings.Contains(body, "error") {
		t.Errorf("again: %d %s", status, body)
	}
	for _, bad := range []map[string]any{{"id": "abcde", "session": l.birch.ID}, {"id": "abcde", "allow": true}, {"session": l.birch.ID, "allow": true}} {
		if status, _ := tab.do("POST", "/api/decide", bad); status != http.StatusBadRequest {
			t.Errorf("%v: %d", bad, status)
		}
	}
	all, err := store.List(t.Context())
	slices.SortFunc(all, func(a, b permission.Request) int { return strings.Compare(a.Alias, b.Alias) }) // both were asked at the same time
	if err != nil || len(all) != 2 || all[0].By != "dana" || all[0].Via != "page" || all[1].State != permission.StateOpen {
		t.Errorf("%+v, %v", all, err)
	}
}

// A client leaves a part out.
func TestThePageSaysWhatIsNotShownInFull(t *testing.T) {
	l := newLab(t)
	store := permission.Open(l.b.Dir(), l.clock.now)
	mine := l.loggedIn()
	e := mine.live()
	for id, input := range map[string]string{"abcde": "{ \"command\": \"one\n⋯ 4,000 code points elided ⋯\ntwo\" }", "bcdef": `{ "command": "ls\u001b[2J" }`} {
		if err := store.Ask(t.Context(), permission.Request{ID: id, Session: l.amber.ID, Alias: l.amber.Alias, Tool: "Bash", Input: input}); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range until(e, "asks", func(open []ask) bool { return len(open) == 2 }) {
		if a.Partial != (a.ID == "abcde") || a.ID == "bcdef" && (len(a.Fields) != 1 || a.Fields[0].Value != `ls\u001b[2J`) {
			t.Errorf("%+v", a)
		}
	}
	for _, tc := range []struct {
		id      string
		partial bool
		want    int
		says    string
	}{
		{"abcde", false, http.StatusConflict, "is not shown in full"},
		{"abcde", true, http.StatusOK, "allowed"},
	} {
		status, body := mine.do("POST", "/api/decide", map[string]any{"id": tc.id, "session": l.amber.ID, "allow": true, "partial": tc.partial})
		if status != tc.want || !strings.Contains(body, tc.says) {
			t.Errorf("%s, %v: %d %s", tc.id, tc.partial, status, body)
		}
	}
	all, err := store.List(t.Context())
	if err != nil || len(all) != 2 || slices.ContainsFunc(all, func(r permission.Request) bool {
		return r.ID == "bcdef" && r.State != permission.StateOpen || r.ID == "abcde" && r.Proof != "login"
	}) {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestThePageShowsWhoOwesAnAnswer(t *testing.T) {
	l := newLab(t)
	tab := l.loggedIn()
	if got := get[owedList](tab, "GET", "/api/owed", nil); len(got.Mine)+len(got.Waits) != 0 {
		t.Errorf("before anybody asks: %+v", got)
	}
	for _, m := range []mail.Message{{To: "birch", Content: "do it\x1b[2J", Kind: "task"}, {To: "dana", Content: "is it so?", Kind: "question", Tag: "urgent"}} {
		if _, err := l.b.Send(t.Context(), l.amber, m); err != nil {
			t.Fatal(err)
		}
	}
	got := get[owedList](tab, "GET", "/api/owed", nil)
	if len(got.Mine) != 1 || got.Mine[0].From != "amber" || got.Mine[0].Kind != "question" {
		t.Errorf("the person's own part: %+v", got.Mine)
	}
	if len(got.Waits) != 2 || got.Waits[0].To != "birch" || got.Waits[1].To != "dana" {
		t.Fatalf("who waits: %+v", got.Waits)
	}
	if w := got.Waits[0]; w.From != "amber" || w.Kind != "task" || w.Late || w.Count != 1 || w.Circle || w.Due <= w.Sent || strings.Contains(w.Words, "\x1b") {
		t.Errorf("%+v", w)
	}
	if _, err := l.b.Send(t.Context(), l.birch, mail.Message{To: "amber", Content: "and you?", Kind: "question"}); err != nil {
		t.Fatal(err)
	}
	if w := get[owedList](tab, "GET", "/api/owed", nil).Waits; len(w) != 3 || !w[0].Circle || w[1].Circle || !w[2].Circle {
		t.Errorf("two that wait for each other: %+v", w)
	}
}

func TestWhatCameFromARoomIsAnsweredThere(t *testing.T) {
	l := newLab(t)
	tab := l.loggedIn()
	for _, s := range []sessions.Session{l.me, l.amber} {
		if _, err := rooms.Join(t.Context(), l.b, s, "review", true); err != nil {
			t.Fatal(err)
		}
	}
	post, err := rooms.Publish(t.Context(), l.b, l.amber, rooms.Draft{Room: "review", Message: mail.Message{Content: "@dana, is it so?"}})
	if err != nil {
		t.Fatal(err)
	}
	all := get[listing](tab, "GET", "/api/history?session="+l.me.ID, nil)
	if len(all.Mails) != 1 || all.Mails[0].ID != post.ID || all.Mails[0].To != "dana#review" {
		t.Fatalf("%+v", all)
	}
	draft := map[string]string{"id": someID + "2", "answers": post.ID, "key": all.Mails[0].Key, "text": "it is"}
	if r := get[receipt](tab, "POST", "/api/reply", draft); r.To != "#review" || r.Again || !strings.HasPrefix(r.Note, "stored for 1") {
		t.Errorf("%+v", r)
	}
	if r := get[receipt](tab, "POST", "/api/reply", draft); !r.Again {
		t.Errorf("sent again it is another post: %+v", r)
	}
	r, err := rooms.StoreOf(l.b.Registry).Open("review")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if posts, err := r.Last(0, nil); err != nil || len(posts) != 2 || posts[1].Content != "it is" || posts[1].InReplyTo != post.ID || !posts[1].Person {
		t.Errorf("%+v, %v", posts, err)
	}
}

func TestThePageShowsWhatMailCosts(t *testing.T) {
	l := newLab(t)
	tab := l.loggedIn()
	if _, err := l.b.Send(t.Context(), l.amber, mail.Message{To: "birch", Content: "do it"}); err != nil {
		t.Fatal(err)
	}
	box, err := l.b.Mailbox(l.birch.ID)
	if err == nil {
		err = box.Archive().Append(t.Context(), "hook", []mail.Message{{From: "odd\x1b[2J name", To: "birch", Content: "hello", ID: "m-1", TS: 1}}, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := get[costList](tab, "GET", "/api/costs", nil)
	if got.Total.Handed != 1 || got.Total.Waiting != 1 || got.Total.Context < 100 || len(got.Pairs) != 2 || got.Pairs[0].From != "amber" {
		t.Fatalf("%+v", got)
	}
	if text := fmt.Sprint(got); strings.Contains(text, "\x1b") || !strings.Contains(text, `\u001b[2J`) {
		t.Errorf("%s", text)
	}
}
