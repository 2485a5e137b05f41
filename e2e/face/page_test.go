package face

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/permission"
	"c2c/wake"
)

// browserProgram is Debian's; scripts/setup.sh installs it.
const browserProgram = "/usr/bin/chromium"

// manyMails is how many there are in the list that is scrolled from its end to its beginning.
const manyMails = 10_000

// hostile are bodies that would do something if anything but text were made of them. What the
// browser would do then, it says by setting window.pwned, by asking somebody, or by an element.
var hostile = []string{
	`<img src=x onerror="window.pwned=1"><svg onload="window.pwned=2"></svg>`,
	`</script><script>window.pwned=3</script></div></article></main>`,
	`<a href="javascript:window.pwned=4">click</a> javascript:window.pwned=4 <iframe src="javascript:parent.pwned=5"></iframe>`,
	`<style>*{display:none}</style><link rel=stylesheet href="http://192.0.2.1/x.css"><base href="http://192.0.2.1/"><meta http-equiv=refresh content="0;url=http://192.0.2.1/">`,
	`"><form action="http://192.0.2.1/"><input autofocus onfocus="window.pwned=6"><button>Allow</button></form>`,
	"{{constructor.constructor('window.pwned=7')()}} ${window.pwned=8} <!-- <template><dialog open>",
	"\u202egnp.exe\u2066 \u200b\u2028 turned \x1b]0;title\x07\x1b[2J and gone\u2069",
	strings.Repeat("W", 250<<10),
	strings.Repeat("👩‍👩‍👧‍👦🏴‍☠️", 500),
	strings.Repeat("line\n", 3000),
	strings.Repeat("a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308", 200),
	"العربية עברית mixed with latin",
}

// people are those who write in a page test, with the person who looks.
type people struct {
	*daemon
	b            *broker.Broker
	dana         sessions.Session
	amber, birch sessions.Session
	store        *permission.Store
}

func newPeople(t *testing.T) *people {
	t.Helper()
	p := &people{daemon: start(t)}
	if p.link() == "" { // which also gives the person a mailbox
		t.Fatal("there is no link")
	}
	getenv := func(name string) string { return map[string]string{"HOME": p.home}[name] }
	var err error
	if p.b, err = broker.OpenHere(getenv, p.home, broker.Config{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.b.Close() })
	p.store = permission.Open(p.b.Dir(), time.Now)
	p.amber, p.birch = p.session("amber", "claude"), p.session("birch", "codex")
	served, err := p.b.Locks.Serve(p.birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { served() })
	all, err := p.b.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.State == sessions.Person {
			p.dana = s
		}
	}
	return p
}

func (p *people) session(alias, client string) sessions.Session {
	p.t.Helper()
	s, err := p.b.Attach(p.t.Context(), callers.Caller{Client: client, ClientID: alias + "-1", Alias: alias})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

var pageLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/login#\S+`)

// link is what a person gets who types c2c open in a terminal.
func (p *people) link() string {
	p.t.Helper()
	return pageLink.FindString(typed(p.t, p.home, "open", "--print"))
}

// mail puts a message where Send would, without what a browser cannot show.
func (p *people) mail(from sessions.Session, to, kind, text string) (string, error) {
	r, err := p.b.Send(p.t.Context(), from, mail.Message{To: to, Content: text, Kind: kind})
	return r.ID, err
}

// past fills a mailbox, and has all of it read.
func (p *people) past(n int) {
	p.t.Helper()
	box, err := p.b.Mailbox(p.birch.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	began := time.Now().Add(-time.Duration(n) * time.Minute)
	for done := 0; done < n; done += 500 {
		if _, err := box.Deliver(p.t.Context(), numbered(done, min(n, done+500), began)...); err != nil {
			p.t.Fatal(err)
		}
		lease, err := box.Lease(p.t.Context(), "hook", 1<<30)
		if err == nil {
			err = lease.Ack(p.t.Context(), inbox.Handles(lease.Messages)...)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// takes reads what waits, as a person does in a terminal: nothing tells more of it.
func (p *people) takes(s sessions.Session) error {
	box, err := p.b.Mailbox(s.ID)
	if err != nil {
		return err
	}
	lease, err := box.Lease(p.t.Context(), "cli_poll", 1<<30)
	if err != nil {
		return err
	}
	return lease.Ack(p.t.Context(), inbox.Handles(lease.Messages)...)
}

// numbered are messages that were sent a minute after one another, those with these numbers.
func numbered(from, to int, began time.Time) (some []mail.Message) {
	for i := from; i < to; i++ {
		at := began.Add(time.Duration(i) * time.Minute)
		some = append(some, mail.Message{From: "amber", To: "birch", ID: mail.NewID(at), TS: mail.Seconds(at),
			Content: fmt.Sprintf("number %d\n%s", i, strings.Repeat("some words of it ", i%40))})
	}
	return some
}

// burst is mail that comes all at once.
func (p *people) burst(n int) error {
	box, err := p.b.Mailbox(p.birch.ID)
	if err == nil {
		_, err = box.Deliver(p.t.Context(), numbered(manyMails, manyMails+n, time.Now().Add(-manyMails*time.Minute))...)
	}
	return err
}

// wish is what the script in the browser wants done.
type wish struct {
	Do, From, To, Kind, Text, ID, Tool string
	Count                              int

	Check string // what was tried
	Wrong string // what was wrong about it
	Told  string // for who reads the log
}

// does does it.
func (p *people) does(w wish) (any, error) {
	who := map[string]sessions.Session{"amber": p.amber, "birch": p.birch, "dana": p.dana}
	switch w.Do {
	case "link":
		return p.link(), nil
	case "send":
		return p.mail(who[w.From], w.To, w.Kind, w.Text)
	case "answers":
		m := mail.Message{To: w.To, Content: w.Text, InReplyTo: w.ID}
		_, err := p.b.Send(p.t.Context(), who[w.From], m)
		return nil, err
	case "ring":
		return nil, p.b.Rang(p.t.Context(), who[w.From].ID, wake.Ring{At: time.Now(), Method: wake.BySocket, Outcome: wake.Rang})
	case "takes":
		return nil, p.takes(who[w.From])
	case "hostile":
		for _, text := range hostile {
			if _, err := p.mail(p.amber, "birch", "", text); err != nil {
				return nil, err
			}
		}
		return len(hostile), nil
	case "hostile room":
		return p.hostileRoom()
	case "room":
		return nil, p.room(cmp.Or(w.To, "review"))
	case "post":
		return nil, p.post(who[w.From], cmp.Or(w.To, "review"), w.Text)
	case "posted":
		for i := range w.Count {
			if err := p.post(who[w.From], "review", fmt.Sprint("post ", i)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case "posts":
		return p.posts()
	case "waits":
		return p.waiting(who[w.To])
	case "ask":
		r := permission.Request{ID: w.ID, Session: who[w.From].ID, Alias: w.From, Tool: "Bash",
			Description: "<b>remove</b> everything", Input: `{"command":"rm -rf build/ ` + strings.Repeat("x", 150) + `"}`}
		if w.Tool != "" {
			r.Tool, r.Description, r.Input = w.Tool, "", w.Text
		}
		return nil, p.store.Ask(p.t.Context(), r)
	case "dialog", "no dialog":
		turn := map[string]sessions.State{"dialog": sessions.Waiting, "no dialog": sessions.Busy}[w.Do]
		return nil, p.b.SetTurn(p.t.Context(), sessions.Session{ID: who[w.From].ID}, turn, inbox.ByHook)
	case "asked":
		all, err := p.store.List(p.t.Context())
		for _, r := range all {
			if r.ID == w.ID {
				return r.State, err
			}
		}
		return "none", err
	case "crowd":
		return nil, p.crowd(w.Count)
	case "old":
		box, err := p.b.Mailbox(p.birch.ID)
		if err == nil {
			_, err = box.Deliver(p.t.Context(), numbered(0, 4, time.Now().Add(-30*time.Hour))...)
		}
		return nil, err
	case "burst":
		return nil, p.burst(500)
	case "ended":
		return nil, p.ended(w.From)
	case "project": // where the person types c2c once
		dir := filepath.Join(p.home, w.To)
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		typedIn(p.t, p.home, dir, "open", "--print")
		return nil, p.asksIn(dir)
	case "count":
		return manyMails, nil
	case "stop":
		return p.c2c("serve", "stop"), nil
	case "start":
		return p.c2c("serve", "start"), nil
	}
	return nil, errors.New("nobody knows how to " + w.Do)
}

// hostileRoom fills a room with what others may write, as c2c stores it or not, and returns how
// many posts there are.
func (p *people) hostileRoom() (n int, err error) {
	if err := p.room("review"); err != nil {
		return 0, err
	}
	r, err := rooms.StoreOf(p.b.Registry).Open("review")
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if _, err := r.Join(p.t.Context(), "odd-1", hostile[0], nil); err != nil {
		return 0, err
	}
	for _, text := range hostile {
		if len(text) > rooms.MaxPost {
			continue
		}
		if err := r.Append(p.t.Context(), func([]rooms.Post) (*rooms.Post, error) {
			return &rooms.Post{TS: mail.Seconds(time.Now()), From: text, Content: text, Reason: text[:min(len(text), 90)], Kind: "status"}, nil
		}); err != nil {
			continue // then it cannot get there
		}
		n++
	}
	return n + 1, p.post(p.birch, "review", "the last post")
}

// room makes a room with amber and birch in it.
func (p *people) room(name string) error {
	for _, s := range []sessions.Session{p.amber, p.birch} {
		if _, err := rooms.Join(p.t.Context(), p.b, s, name, true); err != nil {
			return err
		}
	}
	return nil
}

func (p *people) post(from sessions.Session, room, text string) error {
	_, err := rooms.Publish(p.t.Context(), p.b, from, rooms.Draft{Room: room, Message: mail.Message{Content: text}})
	return err
}

// posts are those of the room, with the end of what each answers.
func (p *people) posts() (texts []string, err error) {
	r, err := rooms.StoreOf(p.b.Registry).Open("review")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all, err := r.Last(0, nil)
	for _, post := range all {
		answered := ""
		if post.InReplyTo != "" {
			to, err := r.Find(post.InReplyTo)
			if err != nil {
				return nil, err
			}
			_, answered, _ = strings.Cut(to.Content, "> ")
		}
		texts = append(texts, post.From+": "+post.Content+" ("+answered+")")
	}
	return texts, err
}

// crowdNames and crowdWords are what sessions are called, and what they write.
var (
	crowdNames = []string{"cedar", "dune", "elm", "fjord", "grove", "heath", "iris", "jade"}
	crowdWords = []string{
		"The importer drops the last row when the file has no newline at its end.",
		"Tests pass on my side: 212 ok, 0 failed. I push it to the branch importer-newline, and you can rebase on that when you have finished with the options.",
		"Which of the two caches is the one that counts? I see `store.Cache` and `index.Cache`, and both are filled at the start.",
		"panic: runtime error: index out of range [0] with length 0\n\texample/importer.(*Reader).header(0xc000124000)\n\t\t/src/importer/read.go:71 +0x1f4",
		"Done.",
	}
)

// crowd has so many sessions there, with the two that are there always: each has mail that waits.
func (p *people) crowd(n int) error {
	clients := []string{"claude", "codex", "opencode", "copilot", "qwen", "kimi", "gemini"}
	from := p.amber
	for i := range n - 2 {
		alias := fmt.Sprintf("%s-%d", crowdNames[i%len(crowdNames)], i/len(crowdNames)+1)
		s := p.session(alias, clients[i%len(clients)])
		for k := range 3 {
			if _, err := p.mail(from, alias, "", crowdWords[(i+k)%len(crowdWords)]); err != nil {
				return err
			}
		}
		from = s
	}
	_, err := p.mail(from, "birch", "", "This is the newest.")
	return err
}

// asksIn has a session of another project write to the person.
func (p *people) asksIn(dir string) error {
	b, err := broker.OpenHere(func(name string) string { return map[string]string{"HOME": p.home}[name] }, dir, broker.Config{})
	if err != nil {
		return err
	}
	defer b.Close()
	s, err := b.Attach(p.t.Context(), callers.Caller{Client: "claude", ClientID: "coral-1", Alias: "coral"})
	if err == nil {
		_, err = b.Send(p.t.Context(), s, mail.Message{To: "dana", Content: "Shall I?"})
	}
	return err
}

// ended makes a session whose client has ended.
func (p *people) ended(alias string) error {
	client := exec.Command("sleep", "infinity")
	if err := client.Start(); err != nil {
		return err
	}
	_, err := p.b.Attach(p.t.Context(), callers.Caller{Client: "gemini", ClientID: alias + "-1", Alias: alias, PID: client.Process.Pid})
	client.Process.Kill()
	client.Wait()
	return err
}

func (p *people) waiting(s sessions.Session) (texts []string, err error) {
	box, err := p.b.Mailbox(s.ID)
	if err != nil {
		return nil, err
	}
	all, err := box.Peek(p.t.Context())
	for _, m := range all {
		texts = append(texts, m.From+": "+m.Content+" ("+m.InReplyTo+")")
	}
	return texts, err
}

// shotsVariable names a directory for pictures of the page, for somebody to look at.
const shotsVariable = "C2C_PAGE_SHOTS"

func (p *people) browse(part string) {
	p.t.Helper()
	browse(p.t, p.url, part, p.does)
}

// browse runs one part of page.mjs on the page of a daemon, and has done what it wants done: a line
// for each wish, and a line for each answer.
func browse(t *testing.T, url, part string, does func(wish) (any, error)) {
	t.Helper()
	dir := t.TempDir()
	var err error
	for _, name := range []string{"page.mjs", "layout.mjs"} {
		if err == nil {
			err = copyFile(filepath.Join(dir, name), filepath.Join("testdata", name))
		}
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "node_modules"), 0o700)
	}
	for _, name := range []string{"playwright-core", "axe-core"} {
		if err == nil {
			err = os.Symlink(filepath.Join(tool(t, name+"@"), name), filepath.Join(dir, "node_modules", name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := node(t, "page.mjs", part, browserProgram, strings.TrimSuffix(url, "/mcp"), os.Getenv(shotsVariable))
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	checks := serve(t, bufio.NewScanner(out), json.NewEncoder(in), does)
	if err := cmd.Wait(); err != nil || checks == 0 {
		t.Errorf("%d checks, %v", checks, err)
	}
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// serve answers wishes until the script has ended, and counts what it has checked.
func serve(t *testing.T, lines *bufio.Scanner, answers *json.Encoder, does func(wish) (any, error)) (checks int) {
	t.Helper()
	for lines.Scan() {
		var w wish
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			t.Errorf("%s", lines.Text())
			continue
		}
		switch {
		case w.Told != "":
			t.Log(w.Told)
		case w.Wrong != "":
			t.Errorf("%s: %s", w.Check, w.Wrong)
		case w.Check != "":
			checks++
		default:
			given, err := does(w)
			if err != nil {
				t.Errorf("%+v: %v", w, err)
			}
			if err := answers.Encode(map[string]any{"given": given}); err != nil {
				t.Error(err)
			}
		}
	}
	return checks
}

func TestThePageInChromium(t *testing.T) {
	for _, part := range []string{"login", "hostile", "write", "rooms", "permission", "reconnect", "looks", "crowd", "keys", "acts", "words", "dialogs", "code", "waiting", "projects", "filter", "timeline", "costs"} {
		t.Run(part, func(t *testing.T) { newPeople(t).browse(part) })
	}
}

// The whole of a long history can be read, and the browser holds a part of it.
func TestThePageWithTenThousandMessages(t *testing.T) {
	p := newPeople(t)
	p.past(manyMails)
	p.browse("many")
}

// A person who comes here first has no session, and no mail.
func TestTheEmptyPage(t *testing.T) {
	d := start(t)
	b, err := broker.OpenHere(func(name string) string { return map[string]string{"HOME": d.home}[name] }, d.home, broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := &people{daemon: d, b: b}
	browse(t, d.url, "empty", func(w wish) (any, error) {
		if w.Do == "begin" {
			p.session("amber", "claude")
			return nil, nil
		}
		return p.does(w)
	})
}
