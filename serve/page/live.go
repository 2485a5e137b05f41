package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"c2c/internal/daemon"
	"c2c/internal/sse"
	"c2c/serve"
	"c2c/serve/live"
)

const (
	heartbeat = 15 * time.Second // the longest time without an event or a comment
	slow      = 10 * time.Second // how long the write of an event may take
)

// now is the present state. The page gets it at the beginning, and again after the page has missed
// updates.
type now struct {
	Root     string     `json:"root"`
	Project  string     `json:"project"` // Project.id
	Dir      string     `json:"dir"`
	Me       string     `json:"me"` // the person's session
	Alias    string     `json:"alias"`
	Sessions []session  `json:"sessions"`
	Mails    []mailView `json:"mails"` // the newest messages, oldest first
}

// change holds the changes since the last event.
type change struct {
	Sessions []session  `json:"sessions,omitempty"` // all sessions, if one has changed
	Mails    []mailView `json:"mails,omitempty"`    // messages that are new or have another state
	Rooms    []string   `json:"rooms,omitempty"`    // rooms that have new posts
}

// live streams the present state to the page, and then every change.
func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	who := serve.VisitorOf(r)
	guardHeaders(w.Header())
	s, err := sse.Start(w, r, slow)
	for err == nil {
		if err = p.watch(r, who, s); errors.Is(err, live.ErrBehind) {
			err = nil // the loop begins again
		}
	}
	if err != nil && r.Context().Err() == nil {
		p.log.Debug("page: a stream has ended", "err", err)
	}
}

// watch streams the state of a root until the stream ends, the root is replaced, or the page falls
// behind. It never returns nil.
func (p *Page) watch(r *http.Request, who serve.Visitor, s *sse.Stream) error {
	ctx := r.Context()
	open, done, err := p.open(who.Root)
	if err != nil {
		return errors.Join(s.Send(event("wrong", map[string]string{"error": visible(err.Error())})), err)
	}
	defer done()
	all, err := open.Live.Now(ctx)
	if err != nil {
		return err
	}
	_, g, _ := p.find(r)
	of, _ := p.projectOf(r, g)
	first := now{Root: visible(who.Root), Project: of.id(), Dir: visible(of.Dir), Sessions: sessionsOf(all.Sessions), Mails: make([]mailView, 0, len(all.Mails))}
	if me, err := personOf(r, who, open.Broker); err == nil {
		first.Me, first.Alias = me.ID, visible(me.Alias)
	}
	for _, m := range all.Mails {
		first.Mails = append(first.Mails, liveMail(m))
	}
	if err := s.Send(event("now", first)); err != nil {
		return err
	}
	return p.tellAll(ctx, open, all.N, s)
}

// tellAll writes each change after the update with this number. It returns when the stream ends;
// its error is the reason.
func (p *Page) tellAll(ctx context.Context, open *serve.OpenRoot, number uint64, s *sse.Stream) error {
	ctx, cancel := context.WithCancelCause(ctx)
	next := make(chan sse.Event)
	put := func(name string, v any) error {
		select {
		case next <- event(name, v):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var sources sync.WaitGroup
	sources.Go(func() {
		cancel(daemon.Survive(p.log, "follow a root", func() error {
			return open.Live.Follow(ctx, number, func(n live.Numbered) error { return put("change", changeOf(n)) })
		}))
	})
	sources.Go(func() {
		cancel(daemon.Survive(p.log, "follow permission requests", func() error {
			return followAsks(ctx, open.Requests, func(open []ask) error { return put("asks", open) })
		}))
	})
	cancel(send(ctx, s, next))
	sources.Wait()
	return context.Cause(ctx)
}

// send writes events as they come. At each heartbeat it writes a comment, which shows that the
// daemon lives.
func send(ctx context.Context, s *sse.Stream, next <-chan sse.Event) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var e sse.Event
		select {
		case e = <-next:
		case <-beat.C:
			e = sse.Event{Comment: "still here"}
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := s.Send(e); err != nil {
			return err
		}
	}
}

func changeOf(n live.Numbered) (c change) {
	c.Rooms = roomsOf(n.Events)
	if n.Sessions != nil {
		c.Sessions = sessionsOf(n.Sessions)
	}
	for _, m := range n.Mails {
		c.Mails = append(c.Mails, liveMail(m))
	}
	return c
}

// event returns an event with v as JSON.
func event(name string, v any) sse.Event {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return sse.Event{Name: name, Data: data}
}
