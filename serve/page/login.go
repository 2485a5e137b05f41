package page

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"c2c/broker"
	"c2c/internal/atomicfile"
	"c2c/serve"
	"c2c/sessions"
	"c2c/sessions/callers"
)

const (
	codeTime  = time.Minute    // how long the code of a link is valid
	loginTime = 12 * time.Hour // how long a login is valid: a working day

	// KeyHeader carries the key of a browser tab. A cookie alone proves too little: browsers also
	// send it to programs on other ports of this machine, and when another page makes a request.
	KeyHeader = "X-C2C-Key"

	codesDir  = "login"
	loginsDir = "page"

	maxTabs = 8       // browser tabs of one login; a further tab logs out the oldest
	maxFile = 8 << 10 // bytes
	maxKey  = 64      // characters
)

// Who describes the person for whom a link was made, and the root that the page shows.
type Who struct {
	Root  string `json:"root"`
	Dir   string `json:"dir,omitempty"` // the project's directory, which the page shows
	UID   int    `json:"uid"`
	Login string `json:"login,omitempty"`
}

// grant is the content of the file of an unused code, or of a login.
type grant struct {
	Who
	Expires time.Time `json:"expires"`
	Tabs    []tabKey  `json:"tabs,omitempty"` // only in a login; the newest last
}

// tabKey is the key of one tab.
type tabKey struct {
	Hash string `json:"hash"` // SHA-256
}

// NewCode makes the code of a link. The link opens the page once, within codeTime. The argument
// files is the directory serve.FilesDir.
func NewCode(files *atomicfile.Dir, who Who, now time.Time) (code string, err error) {
	dir, err := files.Sub(codesDir, true)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := sweep(dir, now); err != nil {
		return "", err
	}
	code = newKey(16)
	return code, write(dir, code, grant{Who: who, Expires: now.Add(codeTime)})
}

// newKey returns size random bytes as base64url.
func newKey(size int) string {
	key := make([]byte, size)
	rand.Read(key) // never fails
	return base64.RawURLEncoding.EncodeToString(key)
}

// hash returns the form in which a key is on disk; nobody can compute the key from it.
func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

const suffix = ".json"

func write(dir *atomicfile.Dir, key string, g grant) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return dir.Write(hash(key)+suffix, append(text, '\n'))
}

// read reads the grant of a key, that is, of a code or a cookie. ok is false if there is no grant,
// or if it is not valid.
func read(dir *atomicfile.Dir, key string, now time.Time) (g grant, ok bool) {
	if len(key) < 16 || len(key) > maxKey {
		return g, false
	}
	g, err := readFile(dir, hash(key)+suffix)
	return g, err == nil && g.holds(now)
}

func readFile(dir *atomicfile.Dir, name string) (g grant, err error) {
	data, err := dir.ReadMost(name, maxFile)
	if err != nil {
		return g, err
	}
	return g, json.Unmarshal(data, &g)
}

// holds reports whether a grant is for this user and valid now. A grant that ends later than a new
// login would end is not valid: the clock was set back after the grant was made.
func (g grant) holds(now time.Time) bool {
	return g.UID == os.Geteuid() && filepath.IsAbs(g.Root) && now.Before(g.Expires) && !g.Expires.After(now.Add(loginTime))
}

// sweep removes grants that are not valid.
func sweep(dir *atomicfile.Dir, now time.Time) error {
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		if g, err := readFile(dir, name); err == nil && g.holds(now) {
			continue
		}
		if err := remove(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file. If another request has already removed the file, that is no error.
func remove(dir *atomicfile.Dir, name string) error {
	if err := dir.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// EndLogins ends all logins, and revokes unused links. The argument files is the directory
// serve.FilesDir.
func EndLogins(files *atomicfile.Dir) (err error) {
	for _, of := range []string{codesDir, loginsDir} {
		err = errors.Join(err, removeAll(files, of))
	}
	return err
}

func removeAll(files *atomicfile.Dir, of string) (err error) {
	dir, err := files.Sub(of, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := remove(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// Person finds the logged-in person: the request must have the cookie of a login, and the key of
// one of that login's tabs.
func (p *Page) Person(r *http.Request) (v serve.Visitor, ok bool) {
	_, g, ok := p.find(r)
	return serve.Visitor{Kind: serve.Person, Name: g.Login, Root: g.Root}, ok
}

// dirOf returns the directory of the project that the page of a request shows.
func (p *Page) dirOf(r *http.Request) string {
	_, g, _ := p.find(r)
	return g.Dir
}

// find returns the cookie and the login of a request.
func (p *Page) find(r *http.Request) (cookie string, g grant, ok bool) {
	keys := r.Header[http.CanonicalHeaderKey(KeyHeader)]
	if len(keys) != 1 || len(keys[0]) > maxKey {
		return "", grant{}, false
	}
	dir, err := p.files.Sub(loginsDir, false)
	if err != nil {
		return "", grant{}, false
	}
	defer dir.Close()
	for _, cookie := range p.cookies(r) {
		g, ok := read(dir, cookie, p.now())
		if ok && g.has(keys[0]) {
			return cookie, g, true
		}
	}
	return "", grant{}, false
}

// has reports whether a key belongs to a tab of the login.
func (g grant) has(key string) (has bool) {
	sum := []byte(hash(key))
	for _, one := range g.Tabs {
		has = subtle.ConstantTimeCompare(sum, []byte(one.Hash)) == 1 || has
	}
	return has
}

const maxCookies = 16 // how many cookies of a request the method find tries

// cookies returns the values of cookies that may belong to a login. A browser sends the cookies of
// all roots to each port.
func (p *Page) cookies(r *http.Request) (values []string) {
	for _, c := range r.Cookies() {
		if strings.HasPrefix(c.Name, p.cookiePrefix(r)) && len(values) < maxCookies {
			values = append(values, c.Value)
		}
	}
	return values
}

// cookiePrefix returns the beginning of a cookie's name. It contains the port, because browsers
// send a cookie to all ports of a host.
func (p *Page) cookiePrefix(r *http.Request) string {
	port := "80"
	if i := strings.LastIndexByte(r.Host, ':'); i >= 0 {
		port = r.Host[i+1:]
	}
	return "c2c-" + port + "-"
}

// cookieName returns a different name for each root, so that the pages of two projects do not end
// each other's login.
func (p *Page) cookieName(r *http.Request, root string) string {
	return p.cookiePrefix(r) + hash(root)[:8]
}

// login exchanges the code of a link for a cookie and the key of a tab. A code works only once.
func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	if serve.Stranger(r) {
		fail(w, http.StatusForbidden, "this page belongs to another user of this machine")
		return
	}
	var asked struct {
		Code string `json:"code"`
	}
	if err := readJSON(r, &asked); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	who, ok, err := p.take(asked.Code)
	if err != nil {
		p.fails(w, "take a code", err)
		return
	}
	if !ok {
		fail(w, http.StatusForbidden, "this link was used already, or is older than a minute: c2c open makes a new one")
		return
	}
	cookie, key, err := p.enter(r, who)
	if err != nil {
		p.fails(w, "keep a login", err)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: p.cookieName(r, who.Root), Value: cookie, Path: "/", MaxAge: int(loginTime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode})
	answer(w, map[string]string{"key": key})
}

// take uses up a code. If several requests come with the same code, only the request that removes
// the code's file succeeds.
func (p *Page) take(code string) (who Who, ok bool, err error) {
	dir, err := p.files.Sub(codesDir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return who, false, nil
	}
	if err != nil {
		return who, false, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	g, ok := read(dir, code, p.now())
	if !ok {
		return who, false, nil
	}
	err = dir.Remove(hash(code) + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return who, false, nil
	}
	return g.Who, err == nil, err
}

// enter makes a login, or adds a tab to the login that the browser already has.
func (p *Page) enter(r *http.Request, who Who) (cookie, key string, err error) {
	p.logins.Lock()
	defer p.logins.Unlock()
	dir, err := p.files.Sub(loginsDir, true)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	now := p.now()
	if err := sweep(dir, now); err != nil {
		return "", "", err
	}
	g := grant{Who: who}
	for _, old := range p.cookies(r) {
		if was, ok := read(dir, old, now); ok && was.Root == who.Root {
			g.Tabs, cookie = was.Tabs, old
		}
	}
	cookie, key = cmp.Or(cookie, newKey(32)), newKey(32)
	g.Tabs = append(g.Tabs, tabKey{hash(key)})
	g.Tabs = g.Tabs[max(0, len(g.Tabs)-maxTabs):]
	g.Expires = now.Add(loginTime).UTC().Truncate(time.Second)
	return cookie, key, write(dir, cookie, g)
}

// logout ends the login of a request, for all tabs of this login.
func (p *Page) logout(w http.ResponseWriter, r *http.Request) {
	p.logins.Lock()
	defer p.logins.Unlock()
	dir, err := p.files.Sub(loginsDir, false)
	if err != nil {
		p.fails(w, "end a login", err)
		return
	}
	defer dir.Close()
	if cookie, g, ok := p.find(r); ok {
		if err := remove(dir, hash(cookie)+suffix); err != nil {
			p.fails(w, "end a login", err)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: p.cookieName(r, g.Root), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	answer(w, map[string]bool{"ended": true})
}

// personOf returns the person's own session, in which a visitor of the page acts.
func personOf(r *http.Request, v serve.Visitor, b *broker.Broker) (sessions.Session, error) {
	return callers.Resolve(r.Context(), b.Registry, callers.Caller{Remote: true, User: &callers.User{UID: os.Geteuid(), Login: v.Name}})
}
