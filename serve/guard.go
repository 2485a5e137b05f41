package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"c2c/internal/daemon"
)

// ServeHTTP passes a request to its route, or refuses it. It checks, in this order: the Host
// header, the Origin, the path, the key, and the limits of the route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.busy.Begin() {
		w.Header().Set("Connection", "close")
		http.Error(w, "the daemon is stopping: try again", http.StatusServiceUnavailable)
		return
	}
	defer s.busy.Done()
	out, control := &answer{ResponseWriter: w}, http.NewResponseController(w)
	control.SetWriteDeadline(time.Time{})                                       // that of an earlier request of the connection
	defer func() { control.SetWriteDeadline(time.Now().Add(s.limits.Write)) }() // for what net/http has not written yet
	defer s.recover(out, r)
	if r.Body != nil && r.Body != http.NoBody {
		// net/http removes the deadline at the end of the body. Therefore a request without a body
		// gets no deadline: it would stay, and cut off a long answer.
		control.SetReadDeadline(time.Now().Add(s.limits.Body))
	}
	switch {
	case !s.hosts[r.Host]:
		// The request comes from a web site whose name resolves to this machine (DNS rebinding), or
		// through a proxy that is not ours.
		s.refuse(out, http.StatusForbidden, "host", "this server answers only to the names 127.0.0.1, localhost and [::1], with its port")
	case !s.ownPage(r):
		s.refuse(out, http.StatusForbidden, "origin", "this server does not answer to other web sites")
	case path.Clean(r.URL.Path) != r.URL.Path:
		// The mux would redirect to the clean path. No client of c2c requests a path that is not
		// clean.
		s.refuse(out, http.StatusNotFound, "path", "not found")
	default:
		s.mux.ServeHTTP(out, r)
	}
}

// ownPage reports whether the origin of a request is harmless: c2c's own page, or a program that is
// no browser. A browser says in a header which page sends the request. Other programs have no
// cookie of c2c, so no web page can misuse them.
func (s *Server) ownPage(r *http.Request) bool {
	if origins, has := r.Header["Origin"]; has && (len(origins) != 1 || !s.origins[origins[0]]) {
		return false
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" && site != "none" { // "same-site" is another port of this machine
			return false
		}
	}
	return true
}

// Handle adds routes. It must be called before Run.
func (s *Server) Handle(routes ...Route) {
	for _, route := range routes {
		s.mux.Handle(route.Pattern, s.guard(route))
	}
}

// guard wraps a route's handler with the checks of the key and of the limits.
func (s *Server) guard(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := s.visitor(r)
		switch {
		case ok && !slices.Contains(route.Who, v.Kind) && !slices.Contains(route.Who, Anyone):
			s.refuse(w, http.StatusForbidden, "kind", "this kind of key may not be used for this path")
			return
		case !ok && !slices.Contains(route.Who, Anyone):
			// The header has no resource_metadata: it would make clients look for an OAuth login.
			w.Header().Set("WWW-Authenticate", "Bearer")
			why := "this path needs a token: send Authorization: Bearer <token>, with the token in the file http-mcp-token; if other users may read that file, its token is not valid: c2c serve rotate-token makes a new one"
			if slices.Contains(route.Who, Sender) {
				why = "this path needs a token: send Authorization: Bearer <token>, with the token of a sender (c2c senders allow makes one) or the token in the file http-mcp-token; if other users may read that file, its token is not valid: c2c serve rotate-token makes a new one"
			}
			s.refuse(w, http.StatusUnauthorized, "key", why)
			return
		}
		if v.Kind != Sender && v.Kind != Anyone && Stranger(r) {
			s.refuse(w, http.StatusForbidden, "user", "this server is only for programs of the user who runs it")
			return
		}
		if a, ok := w.(*answer); ok && r.Body != nil {
			r.Body = http.MaxBytesReader(a.ResponseWriter, r.Body, route.Body) // net/http's own writer, through which it can end the connection
		}
		r = r.WithContext(context.WithValue(r.Context(), visitorKey{}, v))
		enter := func(r *http.Request, stands bool) (context.Context, func()) {
			return s.open.enter(r, v, stands, func() bool { return s.isStill(r, v) })
		}
		if !route.Stream {
			count := func(r *http.Request) (context.Context, func()) { return enter(r, true) }
			route.Handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), countKey{}, count)))
			return
		}
		ctx, leave := enter(r, r.Method == http.MethodGet)
		if leave == nil {
			w.Header().Set("Retry-After", "5")
			s.refuse(w, http.StatusServiceUnavailable, "streams", "too many streams are open")
			return
		}
		defer leave()
		route.Handler.ServeHTTP(w, r.WithContext(ctx))
	})
}

type countKey struct{} // context key of the function that CountStream calls

// CountStream counts a request as a standing stream: a stream that only reports events. A handler
// of a route without Stream calls it if the body of a request shows that the answer is such a
// stream. The context ctx ends when the daemon shuts down, or when the visitor's key is no longer
// valid. The caller must call leave at the end; leave is nil if too many streams are open.
func CountStream(r *http.Request) (ctx context.Context, leave func()) {
	count, ok := r.Context().Value(countKey{}).(func(*http.Request) (context.Context, func()))
	if !ok {
		return r.Context(), func() {}
	}
	return count(r)
}

// visitor finds the visitor by the request's key. If a request has the header Authorization, its
// cookie does not count: no client of c2c sends both.
func (s *Server) visitor(r *http.Request) (v Visitor, ok bool) {
	token, has := bearer(r)
	switch {
	case has && s.keys.matches(sha256.Sum256([]byte(token))):
		return Visitor{Kind: Tools}, true
	case has && s.cfg.Sender != nil:
		v, ok = s.cfg.Sender(token)
	case len(r.Header["Authorization"]) == 0 && s.cfg.Person != nil:
		v, ok = s.cfg.Person(r)
	}
	if !ok {
		return Visitor{}, false
	}
	return v, true
}

// isStill reports whether the key of a request is still valid for the same visitor. The key is no
// longer valid when the token was rotated, the sender denied, or the login ended.
func (s *Server) isStill(r *http.Request, was Visitor) bool {
	v, _ := s.visitor(r)
	return v == was
}

// bearer returns the token in a request's Authorization header. c2c takes no token from a URL,
// because URLs get into logs.
func bearer(r *http.Request) (token string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// refuse answers with a sentence and counts the reason. It ends the connection.
func (s *Server) refuse(w http.ResponseWriter, status int, reason, why string) {
	s.counts.refused(reason)
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	fmt.Fprintln(w, why)
}

// recover answers a request whose handler has panicked. It logs only the stack, because the value
// of the panic may contain mail.
func (s *Server) recover(w *answer, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.cfg.Log.Error("a handler panicked", "pattern", r.Pattern, "stack", string(debug.Stack()))
	if w.began {
		s.counts.refused("panic")
		panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
	}
	s.refuse(w, http.StatusInternalServerError, "panic", daemon.ErrPanic.Error())
}

// answer records whether the handler has begun to answer.
type answer struct {
	http.ResponseWriter
	began bool
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	a.began = true
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(data []byte) (int, error) {
	a.began = true
	return a.ResponseWriter.Write(data)
}
