// This part takes mail from outside over HTTP: from programs that have a token, from services that
// sign their requests (GitHub, Standard Webhooks), and from people behind a bridge. A person of
// this machine must have allowed each of them.
//
//	POST /in/<alias>   to one of the aliases to which the sender may write
//	POST /             to the first of these aliases, as in Claude Code's Channels reference
//
// The HTTP answer comes when the message is in the receiver's mailbox on disk. A text like "yes
// abcde" is not mail, but a verdict on a permission request. An unknown sender learns nothing. An
// unknown person behind a bridge learns how a person of this machine lets them in.
//
// The package interprets the body only after it has checked the sender's token or signature, the
// rate, and the size of the body.

package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/serve"
	"c2c/sessions"
	"c2c/sessions/permission"
)

const (
	maxBody = 1 << 20 // bytes of a request
	// maxWaiting is how many messages of one sender may wait in a mailbox.
	maxWaiting = 1000
	// maxUnproven is how many requests are read at a time whose sender is not known yet.
	maxUnproven = 64
	// storeTime is how long storing a message may take. If the sender hangs up, c2c still stores
	// the message.
	storeTime = 8 * time.Second
)

// HooksConfig has the settings of Hooks.
type HooksConfig struct {
	Senders *SenderList
	// OpenRoot opens a root, see serve.Server.OpenRoot.
	OpenRoot func(root string) (*serve.OpenRoot, func(), error)
	// Files is the directory for the hashes of accepted signed requests. The caller closes it.
	Files *atomicfile.Dir
	Log   *slog.Logger
	Now   func() time.Time
}

// Hooks answers requests at the two paths of the package. Any goroutine may use it.
type Hooks struct {
	cfg      HooksConfig
	rates    *rates
	unproven chan struct{} // holds a value for each request whose body verify reads; they take memory
	seen     *seen
}

// NewHooks makes a Hooks. Log and Now may be nil.
func NewHooks(cfg HooksConfig) *Hooks {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Hooks{cfg: cfg, rates: newRates(cfg.Now), unproven: make(chan struct{}, maxUnproven), seen: &seen{dir: cfg.Files}}
}

// Routes returns the routes of Hooks. They accept requests without a token, because a request may
// have a signature instead.
func (h *Hooks) Routes() []serve.Route {
	who := []serve.Kind{serve.Sender, serve.Anyone}
	return []serve.Route{
		{Pattern: "POST /in/{alias}", Who: who, Body: maxBody, Handler: h},
		{Pattern: "POST /{$}", Who: who, Body: maxBody, Handler: h},
	}
}

// Sender is ByToken for a serve.Server.
func (l *SenderList) Sender(token string) (serve.Visitor, bool) {
	s, ok := l.ByToken(token)
	return serve.Visitor{Kind: serve.Sender, Name: s.Name, Root: s.Root}, ok
}

// refusal is an answer with an error status, and a sentence that tells the sender what to do.
type refusal struct {
	status int
	text   string
	after  int // seconds until the sender may try again; 0: the answer does not say it
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

// ServeHTTP answers a request when all the work for the request is done.
func (h *Hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	said, err := h.take(r)
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		no := h.refusalOf(err)
		if no.after > 0 {
			header.Set("Retry-After", strconv.Itoa(no.after))
		}
		if no.status == http.StatusUnauthorized {
			header.Set("WWW-Authenticate", "Bearer")
		}
		header.Set("Connection", "close")
		w.WriteHeader(no.status)
		fmt.Fprintln(w, no.text)
		return
	}
	if said.json {
		header.Set("Content-Type", "application/json")
	}
	w.WriteHeader(said.status)
	io.WriteString(w, said.text)
}

// said is the HTTP answer to an accepted request; if json is true, its text is JSON.
type said struct {
	status int
	text   string
	json   bool
}

// take handles a request: it delivers mail or records a verdict.
func (h *Hooks) take(r *http.Request) (said, error) {
	q, err := h.read(r)
	if err != nil {
		return said{}, err
	}
	l, err := q.letter()
	if err != nil {
		return said{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTime)
	defer cancel()
	open, done, err := h.cfg.OpenRoot(q.sender.Root)
	if err != nil {
		h.cfg.Log.Warn("the project of a sender outside is not open", "sender", q.sender.Name, "err", err)
		return said{}, &refusal{http.StatusServiceUnavailable, "the project of this sender cannot be opened now", 60}
	}
	defer done()
	if id, allow, ok := permission.ParseReply(l.Content); ok { // as in the Channels reference: from any sender such a text is a verdict, never mail
		return h.decide(ctx, open, q, id, allow)
	}
	return h.deliver(ctx, open.Broker, q, l)
}

// ClientOf returns the client name of a sender's session.
func ClientOf(s Sender) string {
	if s.Scheme != "" {
		return sessions.ClientSigned
	}
	return sessions.ClientExternal
}

// deliver stores a letter. The answer to POST / is that of the Channels reference.
func (h *Hooks) deliver(ctx context.Context, b *broker.Broker, q *request, l letter) (said, error) {
	from, err := b.ExternalSession(ctx, q.sender.Name, ClientOf(q.sender))
	if err != nil {
		return said{}, err
	}
	if l.InReplyTo != "" {
		if err := wrote(ctx, b, from, l.InReplyTo); err != nil {
			return said{}, err
		}
	}
	if room, err := b.HasRoomFrom(ctx, from, l.To, maxWaiting); err != nil {
		return said{}, err
	} else if !room {
		return said{}, &refusal{http.StatusTooManyRequests, fmt.Sprintf("%d messages of this sender already wait there: send again later", maxWaiting), 60}
	}
	receipt := broker.Receipt{ID: l.ID}
	store := func() (err error) {
		receipt, err = b.SendExternal(ctx, from, l.Message, l.Origin)
		return err
	}
	if q.proof != "" {
		var again bool
		again, err = h.seen.storeOnce(q.sender, q.proof, q.body, store)
		receipt.Duplicate = receipt.Duplicate || again
	} else {
		err = store()
	}
	if err != nil {
		return said{}, err
	}
	if err := h.cfg.Senders.Used(ctx, q.sender.Name); err != nil {
		h.cfg.Log.Warn("the day of a sender's last use could not be saved", "sender", q.sender.Name, "err", err)
	}
	if q.first {
		return said{http.StatusOK, "ok", false}, nil
	}
	data, err := json.Marshal(struct {
		Queued    bool   `json:"queued"`
		ID        string `json:"message_id"`
		Duplicate bool   `json:"duplicate,omitempty"`
		Held      bool   `json:"held,omitempty"`
	}{true, receipt.ID, receipt.Duplicate, receipt.Held})
	return said{http.StatusOK, string(data) + "\n", true}, err
}

// wrote returns an error unless the message with this id was sent to the sender. The error is the
// same whether or not the message exists, because the sender must not learn about the mail of
// others.
func wrote(ctx context.Context, b *broker.Broker, s sessions.Session, id string) error {
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return err
	}
	found, err := box.FindAll(ctx, id)
	if err == nil && len(found) == 0 {
		err = refuse(http.StatusUnprocessableEntity, "reply_to: no message with this id was sent to you")
	}
	return err
}

// refusalOf turns an error into an answer to the sender. The answer contains only facts that the
// sender needs.
func (h *Hooks) refusalOf(err error) *refusal {
	var no *refusal
	var unknown *sessions.UnknownAliasError
	var taken *inbox.IDTakenError
	switch {
	case errors.As(err, &no):
		return no
	case errors.Is(err, errOtherBody):
		return &refusal{http.StatusConflict, errOtherBody.Error(), 0}
	case errors.As(err, &taken):
		return &refusal{http.StatusConflict, "another message with this message_id was sent before: choose a new one", 0}
	case errors.As(err, &unknown):
		return &refusal{http.StatusNotFound, fmt.Sprintf("no session has the alias %q now; c2c list shows all", unknown.Alias), 0}
	case errors.Is(err, mail.ErrTooLarge):
		return &refusal{http.StatusRequestEntityTooLarge, "the message is too large; send less, or a link", 0}
	case errors.Is(err, mail.ErrBody):
		return &refusal{http.StatusBadRequest, err.Error(), 0}
	case errors.Is(err, owed.ErrTooManyAnswers):
		return &refusal{http.StatusTooManyRequests, "you and the receiver have answered each other too often; a person has to let you go on", 0}
	case errors.Is(err, inbox.ErrFull):
		return &refusal{http.StatusInsufficientStorage, "the mailbox is full: send again later", 60}
	}
	h.cfg.Log.Error("mail from outside is not stored", "err", err)
	return &refusal{http.StatusInternalServerError, "this message may or may not be stored: send it again with the same message_id", 0}
}
