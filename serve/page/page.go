// Package page serves the web page of c2c. On the page a person sees the sessions of a root and
// their mail as it comes, can read and write mail, and can decide permission requests.
//
// The command "c2c open" makes a link that works once, within a minute. The link has a code after
// the #, so no URL of a request and no log contains the code; the page posts it. The answer
// contains a cookie, which scripts cannot read, and a key, which the browser keeps for pages of
// this port and the page sends with each request. A request needs both. A login is for all projects
// of its person. The disk has only hashes of codes, cookies and keys:
//
//	http/login/<hash>.json  an unused code: its root, its user, and the time until which it is valid
//	http/page/<hash>.json   a login: the same, and the hash of its key
//
// The page's files are part of the program. The page loads nothing from other servers, and shows
// mail only as plain text.
package page

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"sync"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/serve"
	"c2c/sessions"
)

//go:embed static
var static embed.FS

// Config has the settings of a Page. Files is the directory serve.FilesDir.
type Config struct {
	Files    *atomicfile.Dir
	Projects func() []Project // the projects of this user
	// List returns the sessions of a root, and of the machines that are linked with it now: first
	// those that need their person. It keeps no root open.
	List func(ctx context.Context, root string) ([]sessions.Listed, error)
	Now  func() time.Time // nil: time.Now
	Log  *slog.Logger     // nil discards
}

// Page answers the requests of browsers. Any goroutine may use it.
type Page struct {
	files  *atomicfile.Dir
	open   func(root string) (*serve.OpenRoot, func(), error)
	all    func() []Project
	list   func(context.Context, string) ([]sessions.Listed, error)
	known  sync.Map // projects that were asked for, by Project.id
	now    func() time.Time
	log    *slog.Logger
	logins sync.Mutex // held while a request changes the file of a login
}

// New makes a page.
func New(cfg Config) *Page {
	p := &Page{files: cfg.Files, all: cfg.Projects, list: cfg.List, now: cfg.Now, log: cfg.Log}
	if p.now == nil {
		p.now = time.Now
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	return p
}

const (
	maxSmall = 4 << 10
	maxBody  = 2 << 20 // bytes: a message of 256 KiB may be six times as long in JSON
)

// Routes returns the routes of the page. The function open opens the roots that the page shows, see
// serve.Server.OpenRoot. Only the page's files and the login need no key. Routes must be called
// once, before the first request.
func (p *Page) Routes(open func(root string) (*serve.OpenRoot, func(), error)) []serve.Route {
	p.open = open
	anyone, person := []serve.Kind{serve.Anyone}, []serve.Kind{serve.Person}
	routes := []serve.Route{{Pattern: "POST /login", Who: anyone, Body: maxSmall, Handler: http.HandlerFunc(p.login)}}
	for path, name := range map[string]string{"/{$}": "page.html", "/login": "page.html", "/page.js": "page.js", "/page.css": "page.css", "/icon.svg": "icon.svg"} {
		routes = append(routes, serve.Route{Pattern: "GET " + path, Who: anyone, Handler: file(name)})
	}
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /api/history":  p.api(p.history),
		"GET /api/search":   p.api(p.search),
		"GET /api/thread":   p.api(p.thread),
		"GET /api/message":  p.api(p.message),
		"GET /api/owed":     p.api(p.owed),
		"GET /api/costs":    p.api(p.costs),
		"GET /api/projects": p.api(p.listProjects),
		"GET /api/rooms":    p.api(p.rooms),
		"GET /api/room":     p.api(p.room),
	} {
		routes = append(routes, serve.Route{Pattern: pattern, Who: person, Handler: handler})
	}
	for pattern, handler := range map[string]http.HandlerFunc{
		"POST /api/send":         p.api(p.send),
		"POST /api/reply":        p.api(p.reply),
		"POST /api/read":         p.api(p.read),
		"POST /api/notify":       p.api(p.notify),
		"POST /api/decide":       p.api(p.decide),
		"POST /api/rooms/post":   p.api(p.post),
		"POST /api/rooms/cost":   p.api(p.cost),
		"POST /api/rooms/seen":   p.api(p.seen),
		"POST /api/rooms/member": p.api(p.member),
		"POST /api/logout":       p.logout,
	} {
		routes = append(routes, serve.Route{Pattern: pattern, Who: person, Body: maxBody, Handler: handler})
	}
	return append(routes, serve.Route{Pattern: "GET /api/live", Who: person, Stream: true, Handler: http.HandlerFunc(p.live)})
}

// policy lets the page load only its own files. No text can run as a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func guardHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
}

var types = map[string]string{"page.html": "text/html; charset=utf-8", "page.js": "text/javascript; charset=utf-8",
	"page.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}

// file returns a handler that answers with one of the page's files, or with 304 if the browser
// already has it.
func file(name string) http.Handler {
	data, err := static.ReadFile("static/" + name)
	if err != nil {
		panic(err) // impossible: the file is in the program
	}
	sum := sha256.Sum256(data)
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		guardHeaders(h)
		h.Set("ETag", etag)
		h.Set("Cache-Control", "no-cache") // the next version of c2c may have another file
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", types[name])
		w.Write(data)
	})
}

func jsonHeaders(h http.Header) {
	guardHeaders(h)
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
}

func answer(w http.ResponseWriter, v any) {
	jsonHeaders(w.Header())
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(http.ErrAbortHandler) // the browser must not take half an answer for a whole one
	}
}

// fail answers with a status and a sentence. It makes control characters visible, because errors
// may contain foreign text.
func fail(w http.ResponseWriter, status int, why string) {
	jsonHeaders(w.Header())
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": mail.Visible(why, "")})
}

// fails logs an error and answers with status 500. It is for faults of the daemon; the argument
// what names the failed step.
func (p *Page) fails(w http.ResponseWriter, what string, err error) {
	p.log.Error("page: "+what, "err", err)
	fail(w, http.StatusInternalServerError, fmt.Sprintf("%s: %v", what, err))
}

var errJSON = errors.New("want a body of JSON")

// readJSON parses a JSON request. It requires the content type of JSON, because a form of another
// web site cannot send that type.
func readJSON(r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fmt.Errorf("%w, and Content-Type: application/json", errJSON)
	}
	d := json.NewDecoder(r.Body)
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %v", errJSON, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%w, and nothing after it", errJSON)
	}
	return nil
}
