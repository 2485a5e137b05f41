package page

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/serve"
	"c2c/sessions"
)

// patience bounds each request of the page, which may have to wait for a lock.
const patience = 10 * time.Second

// call is one request of a logged-in person.
type call struct {
	context.Context
	r    *http.Request
	who  serve.Visitor
	open *serve.OpenRoot
}

func (c *call) b() *broker.Broker { return c.open.Broker }

// me returns the person's session. In a project in which they have none they can only look.
func (c *call) me() (sessions.Session, error) {
	s, err := personOf(c.r, c.who, c.b())
	if errors.Is(err, sessions.ErrNoSession) {
		err = fmt.Errorf("you have no mailbox in this project; c2c open, typed in a terminal there, makes one: %w", sessions.ErrNoSession)
	}
	return s, err
}

// refusal is an error that the person can correct, with its HTTP status.
type refusal struct {
	status int
	error
}

func wrong(format string, a ...any) error {
	return refusal{http.StatusBadRequest, fmt.Errorf(format, a...)}
}

// body parses the request's JSON body.
func (c *call) body(into any) error {
	if err := readJSON(c.r, into); err != nil {
		return refusal{http.StatusBadRequest, err}
	}
	return nil
}

// asks parses the request's JSON body, and finds the person's session.
func (c *call) asks(into any) (me sessions.Session, err error) {
	if err = c.body(into); err == nil {
		me, err = c.me()
	}
	return me, err
}

// api makes a handler that answers with the result of the function f, in JSON.
func (p *Page) api(f func(*call) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := serve.VisitorOf(r)
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		open, done, err := p.open(who.Root)
		if err != nil {
			p.fails(w, "open the project", err)
			return
		}
		defer done()
		given, err := f(&call{ctx, r.WithContext(ctx), who, open})
		if err == nil {
			answer(w, given)
			return
		}
		if ctx.Err() != nil && r.Context().Err() == nil {
			err = fmt.Errorf("another program keeps the mail locked; try again: %w", err)
		}
		fail(w, statusOf(err), err.Error())
	}
}

func statusOf(err error) int {
	var refused refusal
	var unknown *sessions.UnknownAliasError
	switch {
	case errors.As(err, &refused):
		return refused.status
	case roomStatus(err) != 0:
		return roomStatus(err)
	case errors.Is(err, broker.ErrNoMessage), errors.As(err, &unknown):
		return http.StatusNotFound
	case errors.Is(err, sessions.ErrNoSession):
		return http.StatusForbidden
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusUnprocessableEntity
}

const (
	maxPage  = 200 // messages in one answer
	maxQuery = 256 // bytes of a search
)

// listing is a list of messages, and whether there are more.
type listing struct {
	Mails []mailView `json:"mails"`
	More  bool       `json:"more"`
	Note  string     `json:"note,omitempty"` // which mailboxes could not be read
}

func listed(all []broker.Mail, more bool, err error) (any, error) {
	if err != nil && len(all) == 0 {
		return nil, err
	}
	l := listing{Mails: foundMails(all), More: more}
	if err != nil {
		l.Note = visible(err.Error())
	}
	return l, nil
}

// history returns the messages of one session, or of all sessions, newest first. If the URL has the
// parameter before, it returns only messages older than that position.
func (p *Page) history(c *call) (any, error) {
	q := c.r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if q.Get("limit") == "" {
		limit, err = maxPage, nil
	}
	if err != nil || limit < 1 || limit > maxPage {
		return nil, wrong("limit: want 1 to %d", maxPage)
	}
	before, err := momentOf(q.Get("before"))
	if err != nil {
		return nil, err
	}
	all, more, err := c.b().HistoryBefore(c, q.Get("session"), before, limit)
	return listed(all, more, err)
}

// momentOf parses a position in the history: the time of a message as in its JSON, a slash, and the
// message's key.
func momentOf(text string) (broker.Position, error) {
	if text == "" {
		return broker.Latest, nil
	}
	at, key, _ := strings.Cut(text, "/")
	ts, err := strconv.ParseFloat(at, 64)
	trace, kerr := hex.DecodeString(key)
	if err != nil || kerr != nil || math.IsNaN(ts) || len(trace) != len(mail.Fingerprint{}) {
		return broker.Position{}, wrong("before: want the time of a message and its key")
	}
	return broker.Position{TS: ts, Fingerprint: mail.Fingerprint(trace)}, nil
}

// search returns the newest messages that contain all the words of the query.
func (p *Page) search(c *call) (any, error) {
	words := c.r.URL.Query().Get("q")
	if len(words) > maxQuery {
		return nil, wrong("search for at most %d bytes", maxQuery)
	}
	fields := strings.Fields(words)
	if len(fields) == 0 {
		return nil, wrong("search for a word")
	}
	// A person may search all mail, as at a terminal, and the posts of the rooms that this person
	// may read.
	all, err := rooms.SearchPosts(c, c.b(), c.reader(), fields, maxPage+1)
	return listed(all[:min(len(all), maxPage)], len(all) > maxPage, err)
}

// thread returns a whole conversation, oldest first.
func (p *Page) thread(c *call) (any, error) {
	all, more, err := c.b().Thread(c, c.r.URL.Query().Get("id"))
	return listed(all, more, err)
}

// whole is a message with its full text, and with all facts about its delivery.
type whole struct {
	mailView
	Way   []string `json:"way"`             // the history of the message in sentences
	Keeps string   `json:"keeps,omitempty"` // why the receiver has not read the message
	Do    string   `json:"do,omitempty"`    // what the person can do to get it read
}

// found returns the message with this id and this key (keyOf). Senders choose ids, so two messages
// may have the same id. Without the key, found could return another message after the message on
// the page has gone.
func (c *call) found(id, key string) (m broker.Mail, err error) {
	all, err := c.b().Mails(c, id)
	if err != nil {
		return m, err
	}
	i := slices.IndexFunc(all, func(one broker.Mail) bool { return keyOf(one.Fingerprint()) == key })
	if i < 0 {
		return m, fmt.Errorf("message %s: %w", visible(mail.ShortID(id)), broker.ErrNoMessage)
	}
	return all[i], nil
}

// message returns one message by its id and key.
func (p *Page) message(c *call) (any, error) {
	q := c.r.URL.Query()
	id, err := c.b().MessageID(c, q.Get("id"))
	if err != nil {
		return nil, err
	}
	m, err := c.found(id, q.Get("key"))
	if err != nil {
		return nil, err
	}
	w := whole{mailView: foundMail(m, -1), Way: []string{}, Keeps: visible(m.Status.Why), Do: visible(m.Status.Do)}
	for _, line := range m.Status.Way {
		w.Way = append(w.Way, visible(line))
	}
	return w, nil
}
