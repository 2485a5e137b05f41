package page

import (
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions/callers"
)

func TestALinkWorksOnceWithinAMinuteForItsUser(t *testing.T) {
	l := newLab(t)
	code := l.code(l.who())
	tab := l.tab()
	resp := tab.request("POST", "/login", map[string]string{"code": code})
	resp.Body.Close()
	set := resp.Header.Get("Set-Cookie")
	for _, want := range []string{"; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"} {
		if resp.StatusCode != http.StatusOK || !strings.Contains(set, want) || strings.Contains(set, "Domain") {
			t.Errorf("%d, cookie %q: want %q", resp.StatusCode, set, want)
		}
	}
	late := l.code(l.who())
	other := l.who()
	other.UID++
	foreign := l.code(other)
	for name, code := range map[string]string{"twice": code, "a wrong one": newKey(16), "none": "", "a path": "../../../../etc/passwd", "another user's": foreign} {
		if status, body := l.tab().login(code); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	l.clock.add(codeTime)
	if status, body := l.tab().login(late); status != http.StatusForbidden || !strings.Contains(body, "c2c open") {
		t.Errorf("late: %d %s", status, body)
	}
	early := l.code(l.who())
	l.clock.add(-24 * time.Hour)
	if status, _ := l.tab().login(early); status != http.StatusForbidden {
		t.Errorf("with a clock that was set back: %d", status)
	}
}

func TestLoginsAndLinksCanBeEnded(t *testing.T) {
	l := newLab(t)
	if err := EndLogins(l.files); err != nil {
		t.Errorf("before there was one: %v", err)
	}
	in, code := l.loggedIn(), l.code(l.who())
	if err := EndLogins(l.files); err != nil {
		t.Fatal(err)
	}
	if status, _ := in.do("GET", "/api/history", nil); status != http.StatusUnauthorized {
		t.Errorf("who was logged in: %d", status)
	}
	if status, _ := l.tab().login(code); status != http.StatusForbidden {
		t.Errorf("a link from before: %d", status)
	}
	if status, body := l.loggedIn().do("GET", "/api/history", nil); status != http.StatusOK {
		t.Errorf("who logs in anew: %d %s", status, body)
	}
}

func TestOfManyWithOneLinkOneIsLetIn(t *testing.T) {
	l := newLab(t)
	code := l.code(l.who())
	var in sync.Map
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if status, _ := l.tab().login(code); status == http.StatusOK {
				in.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	in.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d were let in", n)
	}
}

func TestNeitherTheCookieNorTheKeyIsEnough(t *testing.T) {
	l := newLab(t)
	mine, other := l.loggedIn(), l.loggedIn()
	change := func(f func(*tab)) *tab {
		c := l.tab()
		c.key = mine.key
		for name, value := range mine.cookies {
			c.cookies[name] = value
		}
		f(c)
		return c
	}
	for name, try := range map[string]*tab{
		"nothing":                  l.tab(),
		"no key":                   change(func(c *tab) { c.key = "" }),
		"no cookie":                change(func(c *tab) { c.cookies = nil }),
		"the key of another login": change(func(c *tab) { c.key = other.key }),
		"another cookie": change(func(c *tab) {
			for name := range c.cookies {
				c.cookies[name] = newKey(32)
			}
		}),
		"the cookie of another port": change(func(c *tab) {
			for name, value := range c.cookies {
				c.cookies = map[string]string{strings.Replace(name, "c2c-", "c2c-9", 1): value}
			}
		}),
		"two keys":           change(func(c *tab) { c.header[KeyHeader], c.key = []string{mine.key, mine.key}, "" }),
		"the hash of a key":  change(func(c *tab) { c.key = hash(mine.key) }),
		"a token beside it":  change(func(c *tab) { c.header.Set("Authorization", "Bearer x") }),
		"another page":       change(func(c *tab) { c.header.Set("Origin", "http://127.0.0.1:1") }),
		"a page of the net":  change(func(c *tab) { c.header.Set("Sec-Fetch-Site", "cross-site") }),
		"another port's one": change(func(c *tab) { c.header.Set("Sec-Fetch-Site", "same-site") }),
	} {
		for _, path := range []string{"/api/history", "/api/live", "/api/search?q=x"} {
			if status, _ := try.do("GET", path, nil); status != http.StatusUnauthorized && status != http.StatusForbidden {
				t.Errorf("%s: %s answers %d", name, path, status)
			}
		}
		if status, _ := try.do("POST", "/api/send", map[string]string{"to": "amber", "text": "x", "id": "00000000-0000-4000-8000-000000000000"}); status != http.StatusUnauthorized && status != http.StatusForbidden {
			t.Errorf("%s: send answers %d", name, status)
		}
	}
	if status, body := mine.do("GET", "/api/history", nil); status != http.StatusOK {
		t.Errorf("with both: %d %s", status, body)
	}
}

func TestASecondLinkReplacesTheFirst(t *testing.T) {
	l := newLab(t)
	browser := l.loggedIn()
	before := *browser
	before.cookies = maps.Clone(browser.cookies)
	if status, _ := browser.login(l.code(l.who())); status != http.StatusOK || browser.key == before.key || len(browser.cookies) != 1 {
		t.Fatalf("%d, %d cookies", status, len(browser.cookies))
	}
	for _, try := range []struct {
		tab  *tab
		want int
	}{{browser, http.StatusOK}, {&before, http.StatusUnauthorized}} {
		if status, _ := try.tab.do("GET", "/api/history", nil); status != try.want {
			t.Errorf("%d, want %d", status, try.want)
		}
	}
}

func TestALoginIsForAllProjectsOfItsPerson(t *testing.T) {
	l := newLab(t)
	other := l.root(t.TempDir())
	l.projects = []Project{{l.b.Root(), "/home/dana/app"}, {other.Root(), "/home/dana/shop\x1b[2J"}}
	l.send(l.amber, "birch", "in the first")
	browser := l.loggedIn()
	all := get[struct{ Projects []projectView }](browser, "GET", "/api/projects", nil).Projects
	if len(all) != 2 || all[0].Name != "app" || all[1].Name != `shop\u001b[2J` {
		t.Fatalf("%+v", all)
	}
	coral, err := other.Attach(t.Context(), callers.Caller{Client: "claude", ClientID: "c", Alias: "coral"})
	if err != nil {
		t.Fatal(err)
	}
	l.send(l.amber, "dana", "for you")
	busy := get[struct{ Projects []projectView }](browser, "GET", "/api/projects?sessions", nil).Projects
	if len(busy) != 2 || busy[0].Needs != 1 || busy[0].Sessions[0].Alias != "dana" || len(busy[0].Sessions) != 3 || len(busy[1].Sessions) != 1 || busy[1].Sessions[0].Alias != "coral" {
		t.Errorf("what runs there: %+v", busy)
	}
	browser.header.Set(projectHeader, all[1].ID)
	if got := get[listing](browser, "GET", "/api/history", nil); len(got.Mails) != 0 {
		t.Errorf("mail of another project: %+v", got)
	}
	if got := until(browser.live(), "now", always[now]); got.Project != all[1].ID || got.Dir != `/home/dana/shop\u001b[2J` || got.Me != "" {
		t.Errorf("%+v", got)
	}
	if status, body := browser.do("POST", "/api/send", map[string]string{"id": someID + "1", "to": "amber", "text": "hello"}); status != http.StatusForbidden || !strings.Contains(string(body), "c2c open") {
		t.Errorf("a person without a mailbox there writes: %d %s", status, body)
	}
	dune, err := other.Attach(t.Context(), callers.Caller{Client: "codex", ClientID: "d", Alias: "dune"})
	if err == nil {
		_, err = other.Send(t.Context(), coral, mail.Message{To: dune.Alias, Content: "is it so?", Kind: "question"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := get[owedList](browser, "GET", "/api/owed", nil); len(got.Mine) != 0 || len(got.Waits) != 1 || got.Waits[0].From != "coral" {
		t.Errorf("who waits in a project in which the person has no mailbox: %+v", got)
	}
	for _, bad := range []string{"000000000000", other.Root(), "../" + all[1].ID} {
		browser.header.Set(projectHeader, bad)
		if status, _ := browser.do("GET", "/api/history", nil); status != http.StatusUnauthorized {
			t.Errorf("project %q: %d", bad, status)
		}
	}
	browser.header.Set(projectHeader, all[0].ID)
	if got := get[listing](browser, "GET", "/api/history", nil); len(got.Mails) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestALoginEnds(t *testing.T) {
	l := newLab(t)
	one, two := l.loggedIn(), l.loggedIn()
	if status, _ := one.do("POST", "/api/logout", map[string]string{}); status != http.StatusOK || len(one.cookies) != 0 {
		t.Errorf("%d, %d cookies", status, len(one.cookies))
	}
	if status, _ := one.do("GET", "/api/history", nil); status != http.StatusUnauthorized {
		t.Errorf("behind the end: %d", status)
	}
	stream := two.request("GET", "/api/live", nil)
	defer stream.Body.Close()
	l.clock.add(loginTime)
	if status, _ := two.do("GET", "/api/history", nil); status != http.StatusUnauthorized {
		t.Errorf("after half a day: %d", status)
	}
	io.Copy(io.Discard, stream.Body) // until the stream has ended, too
}

func TestNoKeyStandsOnTheDisk(t *testing.T) {
	l := newLab(t)
	code, tab := l.code(l.who()), l.loggedIn()
	secrets := []string{code, tab.key}
	for _, value := range tab.cookies {
		secrets = append(secrets, value)
	}
	files := 0
	err := filepath.WalkDir(l.files.Path(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if info, ierr := d.Info(); ierr != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		for _, secret := range secrets {
			if strings.Contains(path+string(text), secret) {
				t.Errorf("%s holds a key", path)
			}
		}
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestOldCodesAndLoginsLeaveTheDisk(t *testing.T) {
	l := newLab(t)
	l.code(l.who())
	dir, err := l.files.Sub(codesDir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	l.clock.add(time.Hour)
	l.code(l.who())
	if names, err := dir.Names(); err != nil || len(names) != 1 {
		t.Errorf("an hour later: %q, %v", names, err)
	}
}
