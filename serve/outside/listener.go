package outside

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/daemon"
	"c2c/internal/sse"
	"c2c/serve"
	"c2c/serve/live"
	"c2c/sessions/permission"
)

// mailGap is how long a stream waits after a mailbox could not be read.
const mailGap = 5 * time.Second

// listener is one stream of events. One goroutine writes the stream; another goroutine follows the
// hub of the root (live.Hub).
type listener struct {
	h    *Events
	name string // of the sender
	open *serve.OpenRoot
	out  *sse.Stream
	text bool

	written string        // the last written event id
	start   live.Snapshot // the state of the root when the stream began

	asked map[string]string // the last written state of each permission request, by session and id
	post  *senderMail
}

// listen makes a listener. A sender that names its last event goes on there.
func (h *Events) listen(r *http.Request, name string, open *serve.OpenRoot) (*listener, error) {
	start, err := open.Live.Now(r.Context())
	if err != nil {
		return nil, err
	}
	l := &listener{h: h, name: name, open: open, start: start, asked: map[string]string{}}
	if l.post, err = newSenderMail(l, mail.ExternalPrefix+name); err != nil {
		return nil, err
	}
	place, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err == nil && place >= 0 {
		l.post.place, l.start.Mails = place, l.own(start.Mails)
		return l, nil
	}
	l.start.Mails = nil // this client has got no events yet, so it needs no states of older messages
	l.post.place, err = l.post.box.Archive().End()
	return l, err
}

// news holds the parts of a hub's update that concern one listener.
type news struct {
	mails []live.Mail
	post  bool // the sender's mailbox has changed
}

// run writes the stream until ctx ends or a write fails.
func (l *listener) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from := l.start.N
	if err := l.begin(); err != nil {
		return err
	}
	next, ended := make(chan news), make(chan error, 1)
	go func() {
		ended <- daemon.Survive(l.h.cfg.Log, "follow a root", func() error { return l.follow(ctx, from, next) })
	}()
	err := l.write(ctx, next, ended)
	cancel()
	return errors.Join(err, <-ended)
}

func (l *listener) begin() error {
	defer func() { l.start = live.Snapshot{} }() // free the memory: a stream may be open for days
	if err := l.out.Send(sse.Event{Comment: "connected"}); err != nil {
		return err
	}
	if err := l.send("hello", helloData{As: "outside", Name: l.name, Permissions: len(l.h.cfg.Decides(l.name)) > 0}); err != nil {
		return err
	}
	return l.tellStates(l.start.Mails)
}

// id returns the id of an event: how far its reader has come in the archive of the sender.
func (l *listener) id() string { return strconv.FormatInt(l.post.place, 10) }

// write writes each update, and the sender's mail, until ctx ends or a write fails.
func (l *listener) write(ctx context.Context, next <-chan news, ended chan error) error {
	beat := time.NewTicker(l.h.cfg.Heartbeat)
	defer beat.Stop()
	mail := true // the sender's mailbox may already have mail
	var told <-chan struct{}
	for {
		requests, changed := l.open.Requests.Now()
		if changed != told {
			if err := l.tellRequests(ctx, requests); err != nil {
				return err
			}
			told = changed
		}
		if mail {
			if err := l.post.deliver(ctx); err != nil {
				return err
			}
		}
		mail = false
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			ended <- err
			return nil
		case n := <-next:
			mail = n.post
			if err := l.tellStates(n.mails); err != nil {
				return err
			}
		case <-changed:
		case <-l.post.retry():
			mail = true
		case <-beat.C:
			mail = true // no event shows that mail became ready because its reader has died
			if err := l.beat(); err != nil {
				return err
			}
		}
	}
}

// beat writes a comment, so that nothing between the daemon and the client closes a quiet stream.
func (l *listener) beat() error {
	if err := l.out.Send(sse.Event{Comment: "still here"}); err != nil {
		return err
	}
	return l.mark()
}

// mark writes an id without an event, if the place has changed since the last id. Browsers accept
// that.
func (l *listener) mark() error {
	id := l.id()
	if l.text || id == l.written {
		return nil
	}
	l.written = id
	return l.out.Send(sse.Event{ID: id})
}

// follow passes on updates as fast as the client reads them. The hub does not wait for a slow
// client. Instead of the updates that such a client has missed, it gets a snapshot of the present
// state.
func (l *listener) follow(ctx context.Context, after uint64, next chan<- news) error {
	give := func(n news) error {
		select {
		case next <- n:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		err := l.open.Live.Follow(ctx, after, func(n live.Numbered) error {
			after = n.N
			return give(news{l.own(n.Mails), l.concerns(n.Events)})
		})
		if !errors.Is(err, live.ErrBehind) {
			return err
		}
		s, err := l.open.Live.Now(ctx)
		if err != nil {
			return err
		}
		if err := give(news{l.own(s.Mails), true}); err != nil {
			return err
		}
		after = s.N
	}
}

// own returns the messages of the sender, without their text.
func (l *listener) own(mails []live.Mail) (own []live.Mail) {
	for _, m := range mails {
		if m.External && isFrom(m.Message, l.post.sid) {
			m.Content, m.Extra = "", nil
			own = append(own, m)
		}
	}
	return own
}

// isFrom reports whether a sender has written a message. A sender's alias is the id of its session,
// so no other session can have that alias.
func isFrom(m mail.Message, sid string) bool { return m.From == sid || m.FromSession == sid }

// concerns reports whether events may have brought mail into the sender's mailbox or archive.
func (l *listener) concerns(events []live.Event) bool {
	return slices.ContainsFunc(events, func(e live.Event) bool {
		return e.SessionID == l.post.sid && e.What != live.Leased
	})
}

// tellStates writes the states of messages.
func (l *listener) tellStates(mails []live.Mail) error {
	for _, m := range mails {
		if err := l.send("status", messageState(m)); err != nil {
			return err
		}
	}
	return nil
}

// tellRequests writes new permission requests, and the verdicts on requests that the stream has
// written before.
func (l *listener) tellRequests(ctx context.Context, all []permission.Request) error {
	all, err := l.mine(ctx, all)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, r := range all {
		there[key(r)] = true
		was, told := l.asked[key(r)]
		state := fmt.Sprint(r.State, " ", r.AskedAt)
		if was == state || !told && r.State != permission.StateOpen {
			continue
		}
		l.asked[key(r)] = state
		if r.State == permission.StateOpen {
			err = l.ask(r)
		} else {
			err = l.send("verdict", verdictOf(r))
		}
		if err != nil {
			return err
		}
	}
	maps.DeleteFunc(l.asked, func(key, _ string) bool { return !there[key] })
	return nil
}

// mine returns the requests that the sender may decide.
func (l *listener) mine(ctx context.Context, all []permission.Request) ([]permission.Request, error) {
	aliases := l.h.cfg.Decides(l.name)
	if len(all) == 0 || len(aliases) == 0 {
		return nil, nil
	}
	sessions, err := l.open.Broker.Sessions(ctx)
	may := map[string]bool{}
	for _, s := range sessions {
		may[s.ID] = slices.ContainsFunc(aliases, func(a string) bool { return mail.CheckAlias(s.Alias) == nil && strings.EqualFold(a, s.Alias) })
	}
	return slices.DeleteFunc(slices.Clone(all), func(r permission.Request) bool {
		_, told := l.asked[key(r)]
		return !may[r.Session] && !told
	}), err
}

func key(r permission.Request) string { return r.Session + "/" + r.ID }
