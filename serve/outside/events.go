// This part serves GET /events: a stream of server-sent events for a sender outside.
//
// A sender gets the answers to its messages, and the states of these messages. A sender that may
// decide permission requests also gets the requests of the sessions to which it may write.
//
//	hello       the sender's name and rights; all open requests follow
//	reply       an answer to the sender
//	edit        an answer that replaces the earlier answer named in "edits"
//	permission  a tool call that waits for a person
//	verdict     how a permission request has ended
//	status      the state of a message
//
// An answer is mail in the mailbox of the sender. The first stream that can take the answer writes
// it and puts it into the archive, where all other streams read it. The id of an event is the place
// in the archive up to which its reader has the answers. Therefore a reader that reconnects and
// sends the id (Last-Event-ID) misses no answer. An id without an event follows when an answer has
// come into the archive.
//
// With ?format=text a stream is for a terminal. It has the form of Claude Code's Channels
// reference, "Full example".

package outside

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"c2c/internal/sse"
	"c2c/serve"
)

// EventsConfig has the settings of Events.
type EventsConfig struct {
	OpenRoot func(root string) (*serve.OpenRoot, func(), error)
	// Decides returns the aliases of the sessions whose permission requests a sender may decide.
	Decides func(sender string) (aliases []string)
	Log     *slog.Logger // nil discards

	Write     time.Duration // how long the write of an event may take; 0: 10 s
	Heartbeat time.Duration // the longest time without an event or a comment; 0: 15 s
}

// Events answers GET /events. Any number of requests may use it at once.
type Events struct {
	cfg   EventsConfig
	turns sync.Map // a *turn for each mailbox, by its path
}

// NewEvents makes an Events.
func NewEvents(cfg EventsConfig) *Events {
	if cfg.Write == 0 {
		cfg.Write = 10 * time.Second
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 15 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Events{cfg: cfg}
}

// Routes are the paths of the handler.
func (h *Events) Routes() []serve.Route {
	return []serve.Route{{Pattern: "GET /events", Who: []serve.Kind{serve.Sender}, Stream: true, Handler: h}}
}

// ServeHTTP writes events until the client hangs up or stops reading, or its key is no longer
// valid.
func (h *Events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format := r.URL.Query().Get("format")
	if format != "" && format != "json" && format != "text" {
		http.Error(w, "format is json or text", http.StatusBadRequest)
		return
	}
	v := serve.VisitorOf(r)
	open, done, err := h.cfg.OpenRoot(v.Root)
	if err != nil {
		h.refuse(w, err)
		return
	}
	defer done()
	l, err := h.listen(r, v.Name, open)
	if err != nil {
		h.refuse(w, err)
		return
	}
	l.text = format == "text"
	if l.out, err = sse.Start(w, r, h.cfg.Write); err == nil {
		err = l.run(r.Context())
	}
	h.cfg.Log.Debug("a stream of events has ended", "sender", v.Name, "err", err)
}

// refuse answers that the root cannot be read now. Only the log gets the cause: an error may name a
// path, and senders must not see paths.
func (h *Events) refuse(w http.ResponseWriter, err error) {
	if !errors.Is(err, context.Canceled) {
		h.cfg.Log.Warn("events are refused", "err", err)
	}
	w.Header().Set("Retry-After", "5")
	http.Error(w, "the project cannot be read now; the daemon's log says why", http.StatusServiceUnavailable)
}
