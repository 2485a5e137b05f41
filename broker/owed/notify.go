package owed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// The requests for a notice are in notify.json. The file exists only while somebody waits, so a
// root without requests costs nothing. The process that acts on deadlines checks them, and so does
// "c2c notify" while it waits.
const (
	// NotifyLock is the lock file of the requests. A process that changes them closes it.
	NotifyLock = "notify.lock"

	// maxRequests bounds the requests of a root.
	maxRequests = 256
)

// Values of Request.When: the state of the session for which a request waits.
const (
	Idle         = "idle"    // no turn runs
	SessionEnded = "ended"   // the client of the session is gone, or its conversation was cleared
	Blocked      = "blocked" // the session waits for its person, or its model fails
	Done         = "done"    // the agent itself says so, with "c2c reply --done"
)

// Whens lists the values of Request.When.
func Whens() []string { return []string{Idle, SessionEnded, Blocked, Done} }

// Further values of News.Became. Each ends all requests about the session, but Failed ends only the
// requests that wait for Blocked.
const (
	Finished = "finished"      // its client has ended after a turn
	Crashed  = "crashed"       // its client has ended in the middle of a turn
	Gone     = "ended"         // its client has ended, and c2c does not know in which state
	Left     = "left"          // its client has gone on to another session
	Cleared  = "cleared"       // its client has begun another conversation in it, with /clear
	Never    = "never-started" // "c2c start" has made it, but its client has begun no conversation
	Failed   = "failed"        // its model fails
)

// Request is the wish of a session or a person for one notice about another session.
type Request struct {
	ID       string      `json:"id"`
	By       string      `json:"by"`         // the session that asked
	SID      string      `json:"session_id"` // the session that the request is about
	Alias    string      `json:"alias"`
	When     string      `json:"when"`
	At       time.Time   `json:"at"`
	PID      int         `json:"pid,omitempty"` // the session's process at the last look; Start is its start time
	Start    int64       `json:"pid_start_time,omitempty"`
	ClientID string      `json:"client_id,omitempty"` // the session's conversation at the last look
	Does     string      `json:"does,omitempty"`      // what the session was last seen doing
	News     SessionNews `json:"news,omitzero"`       // the answer, if the notice with it is still to be sent
	Desktop  bool        `json:"desktop,omitempty"`   // show the news as a notification of the desktop, too
	Repeated bool        `json:"repeated,omitempty"`  // the session By has asked more than once, so Withdraw does not remove the request
}

// NoticeID returns the id of the notice that answers the request.
func (r Request) NoticeID() string { return NoticeID("notify", r.ID) }

// SessionNews says what has happened to a session.
type SessionNews struct {
	Became string `json:"became"`
	Text   string `json:"text"`
}

// ErrTooManyRequests says that too many requests wait.
var ErrTooManyRequests = errors.New("too many requests for a notice wait in this project")

// ErrUnsent says that some notices could not be sent now. A later Check tries again.
var ErrUnsent = errors.New("a notice is sent later")

// RequestNotice stores a request: the session asker wants one notice about the session with this
// alias. If there is news already, RequestNotice returns it and stores nothing. If asker has made
// the same request before, RequestNotice marks the earlier request as repeated, adds desktop to it,
// and returns it.
func RequestNotice(ctx context.Context, reg *sessions.Registry, asker sessions.Session, alias, when string, desktop bool) (r Request, now *SessionNews, err error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return r, nil, err
	}
	if !slices.Contains(Whens(), when) {
		return r, nil, fmt.Errorf("%q is none of %q", when, Whens())
	}
	if _, _, ok := mail.SplitAddress(alias); ok {
		return r, nil, fmt.Errorf("%q is elsewhere: run c2c notify there, or c2c ask %[1]s", alias)
	}
	row := reg.Receiver(rows, alias)
	if row == nil {
		return r, nil, sessions.UnknownAlias(reg, rows, alias)
	}
	s := reg.Session(row)
	switch {
	case s.ID == asker.ID:
		return r, nil, fmt.Errorf("%q is this session itself: ask about another one", alias)
	case s.State == sessions.Person || s.State == sessions.External:
		return r, nil, fmt.Errorf("%q is no session of a client: c2c cannot see what it does", s.Alias)
	case s.Client == "" && s.Process == 0 && when != Done:
		return r, nil, fmt.Errorf("%q was made in a shell and has no process: c2c can see only that it says done (--when done)", s.Alias)
	}
	r = Request{ID: mail.NewID(reg.Now()), By: asker.ID, SID: s.ID, Alias: s.Alias, When: when, At: reg.Now().UTC(), Desktop: desktop}
	if news := r.look(reg, row, false); news != nil {
		return r, news, nil
	}
	err = file(reg).Change(ctx, func(all []Request) ([]Request, error) {
		for i, other := range all {
			if other.By == r.By && other.SID == r.SID && other.When == r.When {
				all[i].Desktop, all[i].Repeated = other.Desktop || desktop, true
				r = all[i]
				return all, nil
			}
		}
		if len(all) >= maxRequests {
			return nil, ErrTooManyRequests
		}
		return append(all, r), nil
	})
	if err == nil { // wake the process that checks requests: it watches the registry's lock file
		err = atomicfile.WithLock(ctx, reg.Dir(), sessions.RegistryLock, func() error { return nil })
	}
	return r, nil, err
}

// rowOf returns the row of a session. If there is none, rowOf makes one from the session's facts,
// which stay when a row goes; nil: no facts, either. gone means that the session has ended: it has
// no row, and c2c does not see that its client runs.
func rowOf(reg *sessions.Registry, rows []sessions.Row, sid string) (r sessions.Row, gone bool) {
	if i := sessions.FindSID(rows, sid); i >= 0 {
		return rows[i], false
	}
	f := reg.Facts.Of(sid)
	if !f.OnDisk() {
		return nil, true
	}
	r.SetText("session_id", sid)
	r.SetText("alias", f.Alias)
	if f.PID != 0 {
		r.SetInteger("pid", int64(f.PID))
		r.SetInteger("pid_start_time", f.StartTime)
	}
	state := reg.State(r)
	return r, state == sessions.Absent || state == sessions.Unknown
}

// look returns the news for which the request waits, or nil. It updates r with what the session
// does now. For row and gone see rowOf.
func (r *Request) look(reg *sessions.Registry, row sessions.Row, gone bool) *SessionNews {
	removed := &SessionNews{Gone, r.Alias + " has ended: its session is not registered any more."}
	if row == nil {
		return removed
	}
	s := reg.Session(row)
	switch {
	case s.State == sessions.Absent:
		return r.ended(s, row)
	case gone:
		return removed
	}
	start := row.Integer("pid_start_time")
	same := s.Process == 0 || r.PID == 0 || s.Process == r.PID && start == r.Start
	switch {
	case same && r.ClientID != "" && s.ClientID() != r.ClientID:
		return &SessionNews{Cleared, r.Alias + " has begun another conversation (/clear): its client runs, and what it had in mind is gone."}
	case !same:
		return &SessionNews{Gone, r.Alias + " has ended, and was started again since."}
	}
	r.ClientID = s.ClientID()
	if s.Process != 0 {
		r.PID, r.Start = s.Process, start
	}
	now := reg.Prober().Now(s, false)
	does := now.Does
	if does == sessions.Away { // its program keeps the conversation for a while, in case a terminal opens it again
		return &SessionNews{Finished, r.Alias + " has ended: its client was closed after its last turn."}
	}
	if does == sessions.Busy || does == sessions.Idle || does == sessions.Waiting {
		r.Does = string(does)
	}
	switch why, at := sessions.ModelFailure(reg, s.ID); {
	case r.When == Idle && now.Background:
		return &SessionNews{Idle, r.Alias + " is idle, but what it has started in the background still runs."}
	case r.When == Idle && does == sessions.Idle:
		return &SessionNews{Idle, r.Alias + " is idle."}
	case r.When == Blocked && does == sessions.Waiting:
		return &SessionNews{Blocked, r.Alias + " waits for its person."}
	case r.When == Blocked && why != "" && at.After(r.At):
		return &SessionNews{Failed, r.Alias + " gets no answer of its model: " + why + "."}
	}
	return nil
}

// ended returns the news that a session has ended, and how.
func (r Request) ended(s sessions.Session, row sessions.Row) *SessionNews {
	does := r.Does
	if s.Turn != "" {
		does = string(s.Turn)
	}
	switch {
	case s.Started:
		return &SessionNews{Never, r.Alias + " has never started: its client ended before it began a conversation."}
	case row.Integer("pid_start_time") == sessions.NoStart:
		return &SessionNews{Left, "The client of " + r.Alias + " has gone on to another session."}
	case does == string(sessions.Busy) || does == string(sessions.Waiting):
		return &SessionNews{Crashed, r.Alias + " has ended in the middle of a turn: its client crashed, or was closed."}
	case does == string(sessions.Idle):
		return &SessionNews{Finished, r.Alias + " has ended: its client was closed after its last turn."}
	}
	return &SessionNews{Gone, r.Alias + " has ended."}
}

// Show shows a text as a notification of the desktop. If a Show is nil, nothing is shown. The text
// has no words of another session's model, only the session's alias, and its client's words for a
// failure.
type Show func(ctx context.Context, text string) error

// SaidDone sends the notices of all requests that wait until this session says that it is done. It
// returns an error only if the caller may not say so, or if the requests could not be changed. A
// notice that cannot be sent now is sent by a later Check.
func SaidDone(ctx context.Context, reg *sessions.Registry, s sessions.Session, show Show) error {
	if err := s.MayAct(); err != nil {
		return err
	}
	all, err := answer(ctx, reg, func(r *Request, _ sessions.Row, _ bool) *SessionNews {
		if r.SID != s.ID || r.When != Done {
			return nil
		}
		return &SessionNews{Done, r.Alias + " says that it is done."}
	})
	if err != nil {
		return err
	}
	if _, err := NewRequestChecker(reg, show).send(ctx, all); err != nil {
		reg.Log.Warn("notices that a session is done were not sent; a later check sends them", "session", s.ID, "err", err)
	}
	return nil
}

// RequestChecker sends notices. It remembers to which sessions it could send none.
type RequestChecker struct {
	reg    *sessions.Registry
	show   Show
	failed tries
}

// NewRequestChecker makes a RequestChecker that remembers nothing yet.
func NewRequestChecker(reg *sessions.Registry, show Show) *RequestChecker {
	return &RequestChecker{reg, show, tries{}}
}

// Check sends the notices that are due, and returns the requests that still wait. If there is no
// request, it costs one system call. The error is ErrUnsent if some notices could not be sent.
func (c *RequestChecker) Check(ctx context.Context) (waiting []Request, err error) {
	all, err := answer(ctx, c.reg, func(r *Request, row sessions.Row, gone bool) *SessionNews { return r.look(c.reg, row, gone) })
	if err != nil {
		return all, err
	}
	return c.send(ctx, all)
}

// askedBy begins the keys of tries for the sessions that have asked.
const askedBy = "asked by "

// answer calls look for each request that has no news yet, records the news that look returns, and
// returns all requests. Recorded news is final, even if the notice can only be sent later. If
// nothing has changed, answer does not take the lock: the processes that wait for news watch the
// lock file, so each check would cause the next one.
func answer(ctx context.Context, reg *sessions.Registry, look func(r *Request, row sessions.Row, gone bool) *SessionNews) (all []Request, err error) {
	err = file(reg).ChangeSeldom(ctx, func(before []Request) ([]Request, error) {
		all = nil
		rows, err := reg.Rows(ctx) // read after the requests: so a session that has just registered and asked is in the rows
		if err != nil {
			return before, err
		}
		for _, r := range before {
			if _, gone := rowOf(reg, rows, r.By); gone {
				continue // the session that asked is gone
			}
			row, gone := rowOf(reg, rows, r.SID)
			r.Alias = cmp.Or(row.Alias(), mail.SafeAlias(r.Alias)) // the alias may have changed since
			if r.News == (SessionNews{}) {
				if news := look(&r, row, gone); news != nil {
					r.News = *news
				}
			}
			all = append(all, r)
		}
		return all, nil
	})
	return all, err
}

// send sends the notices of the requests that have news, and then removes these requests. After a
// kill in between, the notice is sent again, which does no harm because it has the same id. While
// send waits for a mailbox, it holds no lock of the requests, because a suspended process may hold
// that mailbox's lock for days.
func (c *RequestChecker) send(ctx context.Context, all []Request) (waiting []Request, err error) {
	reg, sent := c.reg, map[string]bool{}
	for _, r := range all {
		if r.News == (SessionNews{}) || !c.failed.rests(askedBy+r.By, reg.Now()).IsZero() {
			continue
		}
		brief, end := context.WithTimeout(ctx, sessions.KeepWait)
		serr := SendNotice(brief, reg, r.By, mail.Message{To: cmp.Or(reg.AliasOf(ctx, r.By), reg.Facts.Of(r.By).Alias), ID: r.NoticeID(), Content: r.News.Text}, NoticeAsked)
		end()
		if serr != nil { // the other notices are sent all the same
			err, c.failed[askedBy+r.By] = errors.Join(err, fmt.Errorf("%w: %w", ErrUnsent, serr)), reg.Now()
			continue
		}
		sent[r.ID] = true
	}
	if len(sent) == 0 {
		return all, err
	}
	waiting = all // in case Change below fails
	var shown []string
	cerr := file(reg).Change(ctx, func(now []Request) (rest []Request, err error) {
		for _, r := range now {
			switch {
			case !sent[r.ID]:
				rest = append(rest, r)
			case r.Desktop:
				shown = append(shown, r.News.Text)
			}
		}
		waiting = rest
		return rest, nil
	})
	for _, text := range shown {
		if cerr != nil || c.show == nil {
			break
		}
		if err := c.show(ctx, text); err != nil {
			reg.Log.Warn("a notification of the desktop was not shown", "err", err)
		}
	}
	return waiting, errors.Join(err, cerr)
}

// file returns the file of the requests.
func file(reg *sessions.Registry) atomicfile.RecordsFile[Request] {
	return atomicfile.RecordsFile[Request]{Dir: reg.Dir(), Name: sessions.NotifyFile, Lock: NotifyLock, Now: reg.Now, Log: reg.Log}
}

// ListRequests returns the requests that wait.
func ListRequests(reg *sessions.Registry) ([]Request, error) {
	all, err := file(reg).Read()
	for i := range all {
		all[i].Alias = mail.SafeAlias(all[i].Alias)
	}
	return all, err
}

// CancelRequests removes the requests of the session asker about an alias.
func CancelRequests(ctx context.Context, reg *sessions.Registry, asker sessions.Session, alias string) (removed int, err error) {
	return cancel(ctx, reg, func(r Request) bool { return r.By == asker.ID && sessions.Fold(r.Alias) == sessions.Fold(alias) })
}

// WithdrawRequest removes one request, unless By has made it more than once: then another process
// may still want the notice.
func WithdrawRequest(ctx context.Context, reg *sessions.Registry, asked Request) error {
	_, err := cancel(ctx, reg, func(r Request) bool { return r.ID == asked.ID && !r.Repeated })
	return err
}

func cancel(ctx context.Context, reg *sessions.Registry, match func(Request) bool) (removed int, err error) {
	err = file(reg).ChangeSeldom(ctx, func(all []Request) ([]Request, error) {
		kept := slices.DeleteFunc(slices.Clone(all), match)
		removed = len(all) - len(kept)
		return kept, nil
	})
	return removed, err
}

// RequestFiles returns the files to watch for these requests. When a process closes one of them,
// there may be news.
func RequestFiles(reg *sessions.Registry, waiting []Request) []string {
	files := []string{filepath.Join(reg.Root(), NotifyLock)}
	for _, r := range waiting {
		files = append(files, filepath.Join(reg.Root(), "sessions", r.SID+".lock"))
	}
	return files
}

const (
	// RequestsEvery is the time between two checks while a request waits.
	RequestsEvery = 2 * time.Second
	// requestsOnce is the same in a root without a lasting process: the first command after this
	// time checks again.
	requestsOnce = 10 * time.Second
)
