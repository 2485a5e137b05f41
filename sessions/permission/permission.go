// Package permission keeps permission requests. A client asks whether its model may use a tool; a
// person may answer not only in the client's own dialog, but also elsewhere. See Claude Code's
// Channels reference, "Relay permission prompts".
//
// The MCP server of the asking session writes a request (Ask). A person decides (Decide) at a
// terminal, on the page, or through a program that may give verdicts (package serve/outside). The
// server sends the verdict to the client, and records that the verdict was sent (Settle). The first
// answer wins, also if it comes in the client's own dialog. There is no default verdict: a request
// may expire without one.
//
// All data is in files, in <root>/permission. Any number of processes may use them at once:
//
//	<id>.<session>.json  a request and its state, until an hour after its end
//	<id>.<session>.lock  held by the asking server until Settle; free after the server has ended
//	lock                 held while a process changes any of these files; its holder waits for no other lock
//	audit.jsonl, .old    a line for each request, verdict and end; at 4 MiB the file becomes .old
package permission

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// State is the state of a request.
type State string

// The states. A request leaves StateOpen once.
const (
	StateOpen     State = "open"
	StateAllowed  State = "allowed"
	StateDenied   State = "denied"
	StateTerminal State = "terminal" // a person has answered in the client's own dialog
	StateExpired  State = "expired"
	StateGone     State = "gone"   // the client or its MCP server has ended
	StateForged   State = "forged" // another program has changed the file, see Request.Same and files.forged
)

// Request is a tool call that waits for a person. The client's texts are cut, and their control
// characters made visible by mail.Visible.
type Request struct {
	ID          string  `json:"request_id"` // five letters of a-z without l
	Session     string  `json:"session_id"`
	Alias       string  `json:"alias"` // the session's alias at the time of Ask
	Tool        string  `json:"tool_name"`
	Description string  `json:"description"`
	Input       string  `json:"input_preview"`     // the part of the input that the client shows
	Partial     bool    `json:"partial,omitempty"` // Input is not the whole input
	State       State   `json:"state"`
	AskedAt     float64 `json:"asked_at"` // in seconds, like all times
	ExpiresAt   float64 `json:"expires_at"`
	By          string  `json:"by,omitempty"`      // the name of the person or sender that decided
	Via         string  `json:"via,omitempty"`     // the place of the decision, for example "page"
	Proof       string  `json:"proof,omitempty"`   // evidence that a person decided, see Verdict
	At          float64 `json:"at,omitempty"`      // the time at which the request ended
	SentAt      float64 `json:"sent_at,omitempty"` // when the server sent the verdict; the client sends no receipt
}

// Name returns alias and id. It is unique even if requests of two sessions have the same id.
func (r Request) Name() string { return r.Alias + "/" + r.ID }

// Verdict is a person's answer.
type Verdict struct {
	Allow    bool
	Partial  bool     // the verdict counts even if only a part of the request was shown
	By, Via  string   // for example "max", "page"
	Proof    string   // evidence that a person gave the verdict, for example ProofTerminal; without it, no verdict counts
	Sessions []string // ids of the sessions for which the verdict counts; nil: all
}

// ProofTerminal is the Proof of a verdict from a person's terminal, see callers.CheckPerson.
const ProofTerminal = "terminal"

func (v Verdict) word() string {
	if v.Allow {
		return "allow"
	}
	return "deny"
}

// The errors of Ask and Decide, besides DecidedError.
var (
	ErrUnknown = errors.New("no permission request has this id")
	ErrNoRight = errors.New("no right to decide this permission request")
	ErrNoProof = errors.New("nothing shows that a person decides this permission request")
	ErrPartial = errors.New("is not shown in full") // the verdict would allow more than the person has seen
	ErrSeveral = errors.New("several sessions ask with the id")
	ErrTaken   = errors.New("another request has this id")
	ErrFull    = errors.New("too many permission requests are open")
)

// DecidedError reports that a request had ended before the verdict. If it had expired, the client's
// own dialog may still be open.
type DecidedError struct{ Request Request }

func (e *DecidedError) Error() string {
	r := e.Request
	switch r.State {
	case StateTerminal:
		return fmt.Sprintf("permission request %s was answered in the session's own dialog", r.Name())
	case StateExpired:
		return fmt.Sprintf("permission request %s has expired; answer it in the session's own dialog", r.Name())
	case StateGone:
		return fmt.Sprintf("permission request %s is void: its session has ended", r.Name())
	case StateForged:
		return fmt.Sprintf("permission request %s is void: somebody has changed its file; answer it in the session's own dialog", r.Name())
	}
	return fmt.Sprintf("permission request %s was %s already, by %s (%s)", r.Name(), r.State, r.By, r.Via)
}

// The bounds.
const (
	Lifetime = 10 * time.Minute // of a request whose ExpiresAt is not set

	lockWait   = 10 * time.Second
	kept       = time.Hour // how long an ended request is kept, so that the error of a late verdict can say why
	maxText    = 4 << 10   // bytes of each text of a request
	maxName    = 64        // bytes of a tool's or a person's name
	maxFile    = 64 << 10
	maxSession = 32 // open requests of one session
	maxAll     = 512
	maxOver    = 256 // ended requests that are kept
	maxAudit   = 4 << 20
)

const (
	dirName   = "permission"
	lockFile  = "lock"
	auditFile = "audit.jsonl"
)

// Store holds the requests of one root. Any goroutine may use it.
type Store struct {
	root *atomicfile.Dir
	now  func() time.Time
	wait time.Duration // how long to wait for the lock; only tests change it
	log  func(ctx context.Context, event string, pairs ...string) error

	mu   sync.Mutex
	held map[string]*atomicfile.Lock // the locks that Ask has taken, by file name
}

// Open returns the requests of a root. The caller closes root. The function now is the clock.
func Open(root *atomicfile.Dir, now func() time.Time) *Store {
	return &Store{root: root, now: now, wait: lockWait, held: map[string]*atomicfile.Lock{}}
}

// LogTo makes the store also pass each line of the audit to the function log; for pairs see
// line.pairs. Call it before any other method.
func (s *Store) LogTo(log func(ctx context.Context, event string, pairs ...string) error) *Store {
	s.log = log
	return s
}

// Ask takes the lock of a new request and writes the request. A second call with the same request
// changes nothing. If ExpiresAt is zero, Ask sets it from Lifetime.
func (s *Store) Ask(ctx context.Context, r Request) error {
	if err := check(r); err != nil {
		return err
	}
	r = r.shown()
	r.By, r.Via, r.Proof, r.At, r.SentAt = "", "", "", 0, 0
	return s.change(ctx, func(d *files) error {
		all, err := d.tidy(ctx)
		if err != nil {
			return err
		}
		for _, old := range all {
			if old.ID == r.ID && old.Session == r.Session {
				if old.State == StateOpen && old.Same(r) {
					return nil
				}
				return fmt.Errorf("ask as %s: %w", r.Name(), ErrTaken)
			}
		}
		if countOf(all, "") >= maxAll || countOf(all, r.Session) >= maxSession {
			return fmt.Errorf("ask as %s: %w", r.Name(), ErrFull)
		}
		r.State, r.AskedAt = StateOpen, mail.Seconds(s.now())
		if r.ExpiresAt == 0 {
			r.ExpiresAt = mail.Seconds(s.now().Add(Lifetime))
		}
		return d.begin(r)
	})
}

func check(r Request) error {
	if !isID(r.ID) {
		return fmt.Errorf("ask for permission: id %q is not five letters of a-z without l", cut(r.ID, maxName))
	}
	if err := mail.CheckName("session id", r.Session); err != nil {
		return err
	}
	return mail.CheckAlias(r.Alias)
}

// shown cuts the texts of the client and of the deciding person, and makes their control characters
// visible.
func (r Request) shown() Request {
	r.Tool, r.By, r.Via, r.Proof = short(r.Tool), short(r.By), short(r.Via), short(r.Proof)
	description, input := mail.Visible(r.Description, "\n\t"), mail.Visible(r.Input, "\n\t")
	r.Partial = r.Partial || elided(input) || !json.Valid([]byte(input)) || len(description) > maxText || len(input) > maxText
	r.Description, r.Input = cut(description, maxText), cut(input, maxText)
	return r
}

func short(text string) string { return cut(mail.Visible(text, ""), maxName) }

// elided reports whether the client has left out a part of the text, although the rest is JSON. It
// looks for the marks that Claude Code 2.1.329 puts in the place of that part.
func elided(text string) bool {
	return slices.ContainsFunc([]string{"⋯", "(value unserializable)", "(unserializable)", "(value hidden:"}, func(mark string) bool { return strings.Contains(text, mark) })
}

// Same reports whether two requests ask for the same tool call.
func (r Request) Same(other Request) bool {
	r, other = r.shown(), other.shown()
	return r.Tool == other.Tool && r.Description == other.Description && r.Input == other.Input && r.Partial == other.Partial
}

// countOf counts the open requests of a session, or of all sessions if session is "".
func countOf(all []Request, session string) (n int) {
	for _, r := range all {
		if r.State == StateOpen && (session == "" || r.Session == session) {
			n++
		}
	}
	return n
}

// Decide records a person's verdict on an open request. The argument id is the request's id in
// upper or lower case; if several sessions use this id, the argument must be the request's name
// (Request.Name). When Decide returns, the verdict is on disk and in the audit, but has not reached
// the client yet. If the verdict does not count, the error and the audit say why.
func (s *Store) Decide(ctx context.Context, id string, v Verdict) (r Request, err error) {
	err = s.change(ctx, func(d *files) error {
		all, err := d.tidy(ctx)
		if err != nil {
			return err
		}
		if r, err = find(all, id, v); err == nil && v.Proof == "" {
			err = ErrNoProof
		}
		if err == nil && v.Allow && r.Partial && !v.Partial {
			err = fmt.Errorf("permission request %s %w: look at it in the session's own dialog", r.Name(), ErrPartial)
		}
		if err != nil {
			return errors.Join(err, d.refuse(id, r, v, err))
		}
		r.State, r.By, r.Via, r.Proof, r.At = StateDenied, short(v.By), short(v.Via), short(v.Proof), mail.Seconds(s.now())
		if v.Allow {
			r.State = StateAllowed
		}
		return d.record(r, v.word(), recorded)
	})
	return r, err
}

// Refuse records in the audit why a verdict does not count, for example ErrNoRight.
func (s *Store) Refuse(ctx context.Context, id string, v Verdict, why error) error {
	return s.change(ctx, func(d *files) error { return d.refuse(id, Request{}, v, why) })
}

// find returns the request to which a verdict belongs.
func find(all []Request, id string, v Verdict) (Request, error) {
	session, letters, named := strings.Cut(id, "/")
	if !named {
		session, letters = "", id
	}
	letters = strings.ToLower(strings.TrimSpace(letters))
	var found []Request
	foreign := false
	for _, r := range all {
		switch {
		case r.ID != letters || named && r.Session != session && !strings.EqualFold(r.Alias, session):
		case v.Sessions != nil && !slices.Contains(v.Sessions, r.Session):
			foreign = true
		default:
			found = append(found, r)
		}
	}
	if open := slices.DeleteFunc(slices.Clone(found), func(r Request) bool { return r.State != StateOpen }); len(open) > 0 {
		found = open
	}
	switch {
	case len(found) == 0 && foreign:
		return Request{}, ErrNoRight
	case len(found) == 0:
		return Request{}, ErrUnknown
	case len(found) > 1 && found[0].State == StateOpen:
		var names []string
		for _, r := range found {
			names = append(names, r.Name())
		}
		return Request{}, fmt.Errorf("%w %s; name one: %s", ErrSeveral, letters, strings.Join(names, ", "))
	}
	r := slices.MaxFunc(found, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
	if r.State == StateOpen {
		return r, nil
	}
	return r, &DecidedError{r}
}

// Sent is no state of a request, but for Settle: the server has sent the verdict to the client.
const Sent State = "sent"

// Settle records how a request ended, and releases the request's lock. The asking server calls
// Settle, with StateTerminal, StateGone, StateForged or Sent. If the request has a verdict, Settle
// only records that the verdict was sent, or that the request was forged. If the client has ended,
// Settle releases the lock even if it cannot write, because a free lock also shows that the request
// has ended.
func (s *Store) Settle(ctx context.Context, session, id string, how State) error {
	open := false
	err := s.change(ctx, func(d *files) error {
		all, err := d.tidy(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(r Request) bool { return r.ID == id && r.Session == session })
		if i < 0 {
			return ErrUnknown
		}
		r, now := all[i], mail.Seconds(s.now())
		switch {
		case how == Sent && r.decided() && r.SentAt == 0:
			r.SentAt = now
			return d.record(r, r.word(), "sent")
		case how == StateForged && r.State != how, how != Sent && r.State == StateOpen:
			r.State, r.At = how, now
			return d.record(r, "", string(how))
		}
		open = r.State == StateOpen
		return nil
	})
	if err == nil && !open || errors.Is(err, ErrUnknown) || how == StateGone {
		s.release(fileOf(session, id))
	}
	return err
}

// List returns the open requests and those that ended in the last hour, oldest first. It changes
// nothing.
func (s *Store) List(ctx context.Context) ([]Request, error) {
	d, err := s.open(false)
	if d == nil || err != nil {
		return nil, err
	}
	defer d.dir.Close()
	all, err := d.list(ctx)
	for i := range all {
		all[i] = d.current(all[i])
	}
	return all, err
}

// Get returns one request; the error may be ErrUnknown.
func (s *Store) Get(ctx context.Context, session, id string) (r Request, err error) {
	d, err := s.open(false)
	if err != nil || d == nil {
		return r, cmp.Or(err, ErrUnknown)
	}
	defer d.dir.Close()
	r, ok := d.read(fileOf(session, id) + ending)
	if !ok || r.ID != id || r.Session != session {
		return Request{}, ErrUnknown
	}
	return d.current(r), nil
}
