package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"c2c/process/survive"
)

// ServeHTTP lets a request through to its route, or refuses it, whatever its method is. It checks, in this order: the Host header, the
// page that asks, the path, the key, and the limits of the route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.busy.Begin() {
		w.Header().Set("Connection", "close")
		http.Error(w, "the daemon ends", http.StatusServiceUnavailable)
		return
	}
	defer s.busy.Done()
	out := &answer{ResponseWriter: w, control: http.NewResponseController(w), write: s.limits.Write}
	defer out.end()
	defer func() { s.counts.answered(r.Pattern, out.status) }()
	defer s.recover(out, r)
	if r.Body != nil && r.Body != http.NoBody {
		// net/http takes the time away at the end of the body. Where there is none it would end a long answer.
		out.control.SetReadDeadline(time.Now().Add(s.limits.Body))
	}
	switch {
	case !s.hosts[r.Host]:
		// A web site whose name was made to lead to this machine (DNS rebinding), or a proxy that is not c2c's.
		s.refuse(out, http.StatusForbidden, "host", "this server is asked as 127.0.0.1, localhost or [::1] and its port alone")
	case !s.ownPage(r):
		s.refuse(out, http.StatusForbidden, "origin", "no other web site may ask this server")
	case path.Clean(r.URL.Path) != r.URL.Path:
		// The mux would redirect to the clean one. No client of c2c asks for such a path.
		s.refuse(out, http.StatusNotFound, "path", "not found")
	default:
		s.mux.ServeHTTP(out, r)
	}
}

// ownPage reports whether c2c's own page asks, if the client is a browser. Browsers say which page asks; another program has no key of
// theirs.
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

// Handle adds paths, before Run.
func (s *Server) Handle(routes ...Route) {
	for _, route := range routes {
		s.mux.Handle(route.Pattern, s.guard(route))
	}
}

// guard is a route's handler behind its key and its limits.
func (s *Server) guard(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := s.visitor(r)
		switch {
		case ok && !slices.Contains(route.Who, v.Kind) && !slices.Contains(route.Who, Anyone):
			s.refuse(w, http.StatusForbidden, "kind", "this key is not for this")
			return
		case !ok && !slices.Contains(route.Who, Anyone):
			// Without resource_metadata: clients would begin to look for a login of OAuth.
			w.Header().Set("WWW-Authenticate", "Bearer")
			why := "this needs the token: Authorization: Bearer and what is in http-mcp-token"
			if slices.Contains(route.Who, Sender) {
				why = "this needs a token: Authorization: Bearer and that of a sender, which c2c senders allow makes, or what is in http-mcp-token"
			}
			if exposed, first := s.keys.isExposed(); exposed {
				why = "others may read http-mcp-token, so it lets nobody in: c2c serve rotate-token makes a new one"
				if first {
					s.cfg.Log.Error("nobody is let in with the tool token: others may read its file", "path", TokenFile(s.cfg.State))
				}
			}
			s.refuse(w, http.StatusUnauthorized, "key", why)
			return
		}
		conn := connOf(r)
		if v.Kind != Sender && v.Kind != Anyone && conn.stranger() {
			s.refuse(w, http.StatusForbidden, "user", "this server is for programs of its own user")
			return
		}
		if ok {
			conn.letIn(v.Kind)
		}
		if !s.fits(w, r, route) {
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), visitorKey{}, v))
		enter := func(r *http.Request, stands bool) (context.Context, func()) {
			return s.open.enter(r, v, stands, func() int { return ProcessOf(r).PID }, func() bool { return s.isStill(r, v) })
		}
		if !route.Stream {
			stand := func(r *http.Request) (context.Context, func()) { return enter(r, true) }
			route.Handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), standKey{}, stand)))
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

type standKey struct{} // in the context, of what Stand calls

// Stand counts a request as a stream that only tells what happens: it ends when the daemon is to end, or when the visitor's key is
// no longer valid. It is for a route without Stream where the body alone says which answer is a stream. leave is nil if there are
// too many.
func Stand(r *http.Request) (ctx context.Context, leave func()) {
	stand, ok := r.Context().Value(standKey{}).(func(*http.Request) (context.Context, func()))
	if !ok {
		return r.Context(), func() {}
	}
	return stand(r)
}

// fits refuses what is too large for a route, and bounds what is read.
func (s *Server) fits(w http.ResponseWriter, r *http.Request, route Route) bool {
	server := w
	if a, ok := w.(*answer); ok {
		server = a.ResponseWriter // the server's own, which then ends the connection
	}
	if r.ContentLength > route.Body || route.Body == 0 && r.ContentLength != 0 {
		// As if too much were read: the server then waits a moment before it closes, so that a client that still sends finds the
		// answer, not a reset. Without that net/http does not wait for a client that has said Connection: close (Go 1.26).
		http.MaxBytesReader(server, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
		s.refuse(w, http.StatusRequestEntityTooLarge, "size", fmt.Sprintf("a body may have %d bytes here", route.Body))
		return false
	}
	if route.Stream && r.Method == http.MethodHead {
		w.Header().Set("Allow", http.MethodGet)
		s.refuse(w, http.StatusMethodNotAllowed, "method", "a stream has no end that one could ask for")
		return false
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(server, r.Body, route.Body)
	}
	return true
}

// visitor finds the visitor by the request's key. A request with two keys has none: a program has one, and a browser shows no token.
func (s *Server) visitor(r *http.Request) (v Visitor, ok bool) {
	token, has := bearer(r)
	switch {
	case has && s.keys.matches(sha256.Sum256([]byte(token))):
		return Visitor{Kind: Tools}, true
	case has && s.cfg.Senders != nil:
		v, ok = s.cfg.Senders.Sender(token)
	case len(r.Header["Authorization"]) == 0 && s.cfg.Persons != nil:
		v, ok = s.cfg.Persons.Person(r)
	}
	if !ok {
		return Visitor{}, false
	}
	return v, true
}

// isStill reports whether the key of a request is still valid: a token may be replaced, a sender denied, a login over.
func (s *Server) isStill(r *http.Request, was Visitor) bool {
	v, _ := s.visitor(r)
	return v == was
}

// bearer is the token of a request that shows one, and nothing else, in its header. A token in a URL would be logged.
func bearer(r *http.Request) (token string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// refuse answers with a sentence, counts the reason, and ends the connection, so that another one has room.
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

// recover answers for a handler that has panicked. Only the stack is logged: the value of the panic may hold a message.
func (s *Server) recover(w *answer, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.cfg.Log.Error("a handler panicked", "pattern", r.Pattern, "stack", string(debug.Stack()))
	if w.status != 0 {
		s.counts.refused("panic")
		panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
	}
	s.refuse(w, http.StatusInternalServerError, "panic", survive.ErrPanic.Error())
}

// answer sets a time for each write: the server's own would end a stream that is open for long.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	write   time.Duration
	own     bool // the handler sets its own times
	status  int  // 0: nothing is written
}

// end is for what the server itself still has to write.
func (a *answer) end() { a.control.SetWriteDeadline(time.Now().Add(a.write)) }

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) SetWriteDeadline(at time.Time) error {
	a.own = true
	return a.control.SetWriteDeadline(at)
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.limit()
	return a.ResponseWriter.Write(data)
}

func (a *answer) FlushError() error {
	a.limit()
	return a.control.Flush()
}

func (a *answer) Flush() { a.FlushError() }

func (a *answer) limit() {
	if !a.own {
		a.control.SetWriteDeadline(time.Now().Add(a.write))
	}
}
