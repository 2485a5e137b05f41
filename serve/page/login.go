package page

import (
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

	// KeyHeader carries the key of a login. A cookie alone proves too little: browsers also send it
	// to programs on other ports of this machine, and when another page makes a request. The page
	// keeps the key where the browser shows it to pages of this port alone.
	KeyHeader = "X-C2C-Key"

	codesDir  = "login"
	loginsDir = "page"

	maxFile = 8 << 10 // bytes
	maxKey  = 64      // characters
)

// Who describes the person for whom a link was made, and the root that the page shows first.
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
	Key     string    `json:"key,omitempty"` // only in a login: the hash of its key
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
func remove(dir *atomicfile.Dir, name string) error { return atomicfile.UnlessAbsent(dir.Remove(name)) }

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
	if err != nil {
		return atomicfile.UnlessAbsent(err)
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

// Person finds the logged-in person: the request must have the cookie of a login, and its key. A
// request that names a project which the person does not have is no person's.
func (p *Page) Person(r *http.Request) (v serve.Visitor, ok bool) {
	if _, g, in := p.find(r); in {
		if of, ok := p.projectOf(r, g); ok {
			return serve.Visitor{Kind: serve.Person, Name: g.Login, Root: of.Root}, true
		}
	}
	return v, false
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

// has reports whether a key is that of the login.
func (g grant) has(key string) bool {
	return subtle.ConstantTimeCompare([]byte(hash(key)), []byte(g.Key)) == 1
}

const maxCookies = 16 // how many cookies of a request the method find tries

// cookies returns the values of the cookies that may be that of a login: another program on this
// machine may have set one with the same name.
func (p *Page) cookies(r *http.Request) (values []string) {
	for _, c := range r.CookiesNamed(cookieName(r)) {
		values = append(values, c.Value)
	}
	return values[:min(len(values), maxCookies)]
}

// cookieName returns the name of a login's cookie. It contains the port, because browsers send a
// cookie to all ports of a host.
func cookieName(r *http.Request) string {
	port := "80"
	if i := strings.LastIndexByte(r.Host, ':'); i >= 0 {
		port = r.Host[i+1:]
	}
	return "c2c-" + port
}

// login exchanges the code of a link for the cookie and the key of a login. A code works only once.
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
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: cookie, Path: "/", MaxAge: int(loginTime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode})
	answer(w, map[string]string{"key": key, "project": Project{Root: who.Root}.id()})
}

// take uses up a code. If several requests come with the same code, only the request that removes
// the code's file succeeds.
func (p *Page) take(code string) (who Who, ok bool, err error) {
	dir, err := p.files.Sub(codesDir, false)
	if err != nil {
		return who, false, atomicfile.UnlessAbsent(err)
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

// enter makes a login, in place of one that the browser already has: its other tabs go on with the
// new key.
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
	cookie, key = newKey(32), newKey(32)
	g := grant{Who: who, Expires: now.Add(loginTime).UTC().Truncate(time.Second), Key: hash(key)}
	if err := write(dir, cookie, g); err != nil {
		return "", "", err
	}
	for _, old := range p.cookies(r) {
		err = errors.Join(err, remove(dir, hash(old)+suffix))
	}
	return cookie, key, err
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
	if cookie, _, ok := p.find(r); ok {
		if err := remove(dir, hash(cookie)+suffix); err != nil {
			p.fails(w, "end a login", err)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: cookieName(r), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	answer(w, map[string]bool{"ended": true})
}

// personOf returns the person's own session, in which a visitor of the page acts.
func personOf(r *http.Request, v serve.Visitor, b *broker.Broker) (sessions.Session, error) {
	return callers.Resolve(r.Context(), b.Registry, callers.Caller{Remote: true, User: &callers.User{UID: os.Geteuid(), Login: v.Name}})
}
