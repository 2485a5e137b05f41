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
	"sort"
	"strings"
	"time"

	"c2c/broker"
	"c2c/inbox/atomicfile"
	"c2c/serve"
	"c2c/sessions"
	"c2c/sessions/callers"
)

const (
	codeTime  = time.Minute    // between c2c open and the browser
	loginTime = 12 * time.Hour // a working day

	// KeyHeader has the key that the page keeps for itself. A cookie alone is sent to whatever listens on another port of
	// this machine, and comes with a request that another page has made.
	KeyHeader = "X-C2C-Key"

	codesDir  = "login"
	loginsDir = "page"

	maxKeys   = 8       // browser tabs of one login; another tab ends the oldest
	maxFile   = 8 << 10 // bytes
	maxKey    = 64      // characters
	maxLogins = 64      // another one ends the login that would end first
)

// Who names the person for whom a link is made, and the root that the page shows.
type Who struct {
	Root  string `json:"root"`
	Dir   string `json:"dir,omitempty"` // of the project, for the person to see
	UID   int    `json:"uid"`
	Login string `json:"login,omitempty"`

	// Unproven says that the link may have been made for an agent: see broker.ProveTerminal. Such a page takes no verdict.
	Unproven bool `json:"unproven,omitempty"`
}

// grant is a file: of a code that is not used yet, or of a login.
type grant struct {
	Who
	Expires time.Time `json:"expires"`
	Keys    []string  `json:"keys,omitempty"` // of a login: the SHA-256 of the key of each tab, the newest last
}

// NewCode makes the code of a link, which opens the page once, within a minute. files is the directory serve.FilesDir.
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

// newKey is a random word of so many bytes.
func newKey(size int) string {
	key := make([]byte, size)
	rand.Read(key) // never fails
	return base64.RawURLEncoding.EncodeToString(key)
}

// hash is how a key is kept on the disk. Reading the file gives nobody a key that works.
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

// read gives the grant of a key, if it still holds.
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

// holds reports whether a grant is for this user and not over. c2c makes none that ends so late as one that fails the last check: the
// clock was set back.
func (g grant) holds(now time.Time) bool {
	return g.UID == os.Geteuid() && filepath.IsAbs(g.Root) && now.Before(g.Expires) && !g.Expires.After(now.Add(loginTime))
}

// sweep removes the grants that are over, and those that end first until another one has room.
func sweep(dir *atomicfile.Dir, now time.Time) error {
	names, err := dir.Names()
	if err != nil {
		return err
	}
	type left struct {
		name string
		ends time.Time
	}
	var all []left
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		g, err := readFile(dir, name)
		if err == nil && g.holds(now) {
			all = append(all, left{name, g.Expires})
		} else if err := remove(dir, name); err != nil {
			return err
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].ends.Before(all[j].ends) })
	for _, one := range all[:max(0, len(all)-maxLogins+1)] {
		if err := remove(dir, one.name); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file that another request may have removed.
func remove(dir *atomicfile.Dir, name string) error {
	if err := dir.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// EndLogins ends all logins, and makes links worthless that were not used yet. files is the directory serve.FilesDir.
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

// Person finds the person who is logged in: the request must have the cookie of a login, and the key of a tab of that.
func (p *Page) Person(r *http.Request) (v serve.Visitor, ok bool) {
	_, g, ok := p.find(r)
	return serve.Visitor{Kind: serve.Person, Name: g.Login, Root: g.Root}, ok
}

// dirOf is the directory of the project that a request's page shows.
func (p *Page) dirOf(r *http.Request) string {
	_, g, _ := p.find(r)
	return g.Dir
}

// find gives the login of a request, and its cookie.
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
		if g, ok := read(dir, cookie, p.now()); ok && g.hasKey(keys[0]) {
			return cookie, g, true
		}
	}
	return "", grant{}, false
}

func (g grant) hasKey(key string) (has bool) {
	sum := []byte(hash(key))
	for _, one := range g.Keys {
		if subtle.ConstantTimeCompare(sum, []byte(one)) == 1 {
			has = true
		}
	}
	return has
}

const maxCookies = 16 // that are looked at

// cookies are the values of the cookies that may be of a login. A browser sends the cookies of all roots to one port.
func (p *Page) cookies(r *http.Request) (values []string) {
	for _, c := range r.Cookies() {
		if strings.HasPrefix(c.Name, p.cookiePrefix(r)) && len(values) < maxCookies {
			values = append(values, c.Value)
		}
	}
	return values
}

// cookiePrefix has the port: a cookie is for all ports of a host.
func (p *Page) cookiePrefix(r *http.Request) string {
	port := "80"
	if i := strings.LastIndexByte(r.Host, ':'); i >= 0 {
		port = r.Host[i+1:]
	}
	return "c2c-" + port + "-"
}

// cookieName differs for each root, so that the pages of two projects do not end each other's login.
func (p *Page) cookieName(r *http.Request, root string) string {
	return p.cookiePrefix(r) + hash(root)[:8]
}

// login takes the code of a link, once, and answers with a key for the tab that has it.
func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	if serve.Stranger(r) {
		fail(w, http.StatusForbidden, "this page is for another user of this machine")
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

// take uses a code up. If several requests have the same code, only the one that removes its file is let in.
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

// enter makes a login, or gives that of the browser one more tab.
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
			g.Keys, cookie = was.Keys, old
			g.Unproven = g.Unproven && was.Unproven // it is the browser that was let in then
		}
	}
	cookie, key = cmp.Or(cookie, newKey(32)), newKey(32)
	g.Keys = append(g.Keys, hash(key))
	g.Keys = g.Keys[max(0, len(g.Keys)-maxKeys):]
	g.Expires = now.Add(loginTime).UTC().Truncate(time.Second)
	return cookie, key, write(dir, cookie, g)
}

// logout ends the login that a request has, for all its tabs.
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

// personOf is the session in which a visitor acts: the person's own.
func personOf(r *http.Request, v serve.Visitor, b *broker.Broker) (sessions.Session, error) {
	return callers.Resolve(r.Context(), b.Registry, callers.Caller{Remote: true, User: &callers.User{UID: os.Geteuid(), Login: v.Name}})
}
