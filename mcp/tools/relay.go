package tools

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/permission"
	"c2c/sessions/callers"
	"c2c/wake/watch"
)

// The contract of the permission relay (Channels reference, "Relay permission prompts").
const (
	permissionCapability = client.ChannelCapability + "/permission"
	PermissionRequest    = ChannelNotification + "/permission_request"
	PermissionVerdict    = ChannelNotification + "/permission"
)

// Relay writes the permission dialogs of a channel's client as requests of package permission, and tells the client the
// verdicts. The dialog stays open meanwhile, and its own answer counts as well.
//
// It waits for nobody in the client's way: what the client says is handed to a goroutine, which Close ends.
type Relay struct {
	// Present says whether a process runs that shows requests to a person. It is called once, when the client
	// initializes: the protocol has no later moment for it. It leaves no trace.
	Present  func() bool
	Lifetime time.Duration // of a request; zero: permission.Lifetime
	Log      *slog.Logger  // nil: nobody is told what cannot be relayed

	Peer *Peer
	srv  *server.MCPServer

	mu       sync.Mutex
	Declared bool
	Queue    []asking // that the goroutine has not taken
	Runs     bool
	changes  *watch.Changes // of the goroutine while requests are open
	Came     chan struct{}  // holds one
	Ctx      context.Context
	stop     context.CancelFunc
	done     sync.WaitGroup

	client string // that has asked; the goroutine's
}

const (
	MaxAsking   = 64 // requests that wait for the goroutine
	relayGap    = 50 * time.Millisecond
	relayRetry  = time.Second
	closingTime = 2 * time.Second // to write that the client is gone; if that takes longer, its free lock tells
	Behind      = 3 * time.Second // the client's record is never so late
	BetweenTwo  = 1500 * time.Millisecond
)

// asking is a request as the client sends it.
type asking struct {
	permission.Request
	caller callers.Caller
}

// Asked is a request that is on the disk.
type Asked struct {
	permission.Request
	store  *permission.Store
	waited bool      // the client was seen to wait for its person
	Left   time.Time // since when it does not any more
	sent   bool      // the client was told
}

// Attach makes the relay part of a server, before it is served.
func (r *Relay) Attach(t *Tools, srv *server.MCPServer, hooks *server.Hooks) {
	r.Peer, r.srv, r.Came = t.Only, srv, make(chan struct{}, 1)
	r.Ctx, r.stop = context.WithCancel(context.Background())
	hooks.AddAfterInitialize(func(_ context.Context, _ any, _ *mcp.InitializeRequest, result *mcp.InitializeResult) {
		if r.Present == nil || !r.Present() {
			return
		}
		r.mu.Lock()
		r.Declared = true
		r.mu.Unlock()
		// A copy: mcp-go gives the same map to every client.
		all := maps.Clone(result.Capabilities.Experimental)
		all[permissionCapability] = map[string]any{}
		result.Capabilities.Experimental = all
	})
	srv.AddNotificationHandler(PermissionRequest, r.Hear)
}

// why says whether the client was asked to tell of its dialogs.
func (r *Relay) why() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Declared {
		return "on: the client was asked to tell of its permission dialogs; it says to nobody whether it does"
	}
	return "off: when the client started, nobody was there to decide: no page was open, and no sender may give verdicts"
}

// Hear takes a request from the client.
func (r *Relay) Hear(ctx context.Context, n mcp.JSONRPCNotification) {
	text := func(key string) string {
		s, _ := n.Params.AdditionalFields[key].(string)
		return s
	}
	a := asking{caller: r.Peer.caller(ctx, mcp.CallToolRequest{}), Request: permission.Request{ID: text("request_id"),
		Tool: text("tool_name"), Description: text("description"), Input: text("input_preview")}}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Declared || r.Ctx.Err() != nil {
		return
	}
	if len(r.Queue) >= MaxAsking {
		r.warn("permission request is not relayed", permission.ErrFull)
		return
	}
	r.Queue = append(r.Queue, a)
	if !r.Runs {
		r.Runs = true
		r.done.Go(r.run)
	}
	select {
	case r.Came <- struct{}{}:
	default:
	}
	if r.changes != nil {
		r.changes.Recheck()
	}
}

// Close ends the relay when its client is gone.
func (r *Relay) Close() {
	if r == nil || r.stop == nil {
		return
	}
	r.stop()
	r.done.Wait()
}

func (r *Relay) warn(what string, err error) {
	if r.Log != nil {
		r.Log.Warn(what, "err", err)
	}
}

func (r *Relay) take() []asking {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.Queue
	r.Queue = nil
	return all
}

func (r *Relay) run() {
	var open []*Asked
	for {
		select {
		case <-r.Came:
		case <-r.Ctx.Done():
			r.leave(open)
			return
		}
		open = r.follow(open)
	}
}

// follow returns when no request is open any more, or the relay is closed.
func (r *Relay) follow(open []*Asked) []*Asked {
	changes := watch.NewChanges()
	defer changes.Close()
	r.watch(changes)
	defer r.watch(nil)
	errNone := errors.New("no request is open")
	err := changes.Each(r.Ctx, relayGap, func() (files []string, wait time.Duration, err error) {
		for _, a := range r.take() {
			if one := r.ask(a); one != nil {
				open = append(open, one)
			}
		}
		open, files, wait = r.look(open)
		if len(open) == 0 {
			return nil, 0, errNone
		}
		return files, wait, nil
	})
	if r.Ctx.Err() == nil && err != nil && !errors.Is(err, errNone) {
		r.warn("permission requests are not watched", err)
	}
	return open
}

func (r *Relay) watch(c *watch.Changes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = c
}

// ask writes a request; nil when that fails: the dialog of the client is open all the same.
func (r *Relay) ask(a asking) *Asked {
	if r.Peer.Cfg.Uninstalled != nil && r.Peer.Cfg.Uninstalled(r.Peer.Client.Configured, r.Peer.Process()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Ctx, cmp.Or(r.Peer.Cfg.LockWait, lockWait))
	defer cancel()
	b, err := r.Peer.Open()
	if err != nil {
		r.warn("open the broker for a permission request", err)
		return nil
	}
	s, err := b.Attach(ctx, a.caller)
	if err != nil {
		r.warn("permission request of no session", err)
		return nil
	}
	r.Peer.Remember(b, s)
	a.Session, a.Alias = s.ID, s.Alias
	r.client = a.caller.Client
	now := time.Now()
	a.AskedAt, a.ExpiresAt = mail.Seconds(now), mail.Seconds(now.Add(cmp.Or(r.Lifetime, permission.Lifetime)))
	store := permission.Open(b.Dir(), time.Now).LogTo(b.Events.WriteTexts)
	if err := store.Ask(ctx, a.Request); err != nil {
		r.warn("permission request is not relayed", err)
		return nil
	}
	return &Asked{Request: a.Request, store: store}
}

// look sees what became of the requests, tells the client, and gives those that are open still, the files that tell of
// changes, and when to look again.
func (r *Relay) look(open []*Asked) (left []*Asked, files []string, wait time.Duration) {
	doing, dir := r.doing()
	for _, a := range open {
		over, again := r.advance(a, doing)
		if over {
			continue
		}
		left, files = append(left, a), append(files, a.store.LockPath())
		if again > 0 && (wait == 0 || again < wait) {
			wait = again
		}
	}
	if dir != "" {
		files = append(files, dir)
	}
	return left, files, wait
}

// doing is what the client's own record says, and the directory that changes with it.
func (r *Relay) doing() (client.Doing, string) {
	profile, _ := client.Find(r.client)
	if profile.Doing == nil || r.Peer.Client.Getenv == nil {
		return client.Doing{}, ""
	}
	config, _ := profile.Config(r.Peer.Client.Getenv)
	return profile.Doing(config, r.Peer.Process(), ""), filepath.Join(config, profile.DoingDir)
}

// advance takes a request one step further. over: nothing is left to do for it; else again is when to look at it next.
func (r *Relay) advance(a *Asked, doing client.Doing) (over bool, again time.Duration) {
	ctx, cancel := context.WithTimeout(r.Ctx, cmp.Or(r.Peer.Cfg.LockWait, lockWait))
	defer cancel()
	now, err := a.store.Get(ctx, a.Session, a.ID)
	how := permission.SettledGone // it has ended by itself, which is written down by that
	switch {
	case errors.Is(err, permission.ErrUnknown):
	case err != nil:
		r.warn("read a permission request", err)
		return false, relayRetry
	case !now.Same(a.Request): // a person was shown something else than the client has asked
		r.warn("a permission request was changed", errors.New(now.Name()))
		how = permission.SettledForged
	case now.State == permission.StateOpen:
		answered, again := a.Answered(doing, time.Now())
		if !answered {
			return false, cmp.Or(again, max(time.Until(mail.FromSeconds(now.ExpiresAt)), relayGap))
		}
		how = permission.SettledTerminal
	case now.State == permission.StateForged:
		r.warn("a verdict is not in the audit, and does not count", errors.New(now.Name()))
	case now.State == permission.StateAllowed || now.State == permission.StateDenied:
		if !a.sent {
			if err := r.tell(now); err != nil {
				return false, relayRetry
			}
			a.sent = true
		}
		how = permission.SettledSent
	}
	if err := a.store.Settle(ctx, a.Session, a.ID, how); err != nil && !errors.Is(err, permission.ErrUnknown) {
		r.warn("write how a permission request ended", err)
		return false, relayRetry
	}
	return true, 0
}

// Answered says whether the client's dialog is over: the client has waited for its person, and does not any more. Between
// two dialogs it does not wait for a moment, so it has to go on for a while. again says when to look anew.
func (a *Asked) Answered(doing client.Doing, now time.Time) (yes bool, again time.Duration) {
	switch {
	case doing.Word == "":
		return false, 0
	case doing.Word == client.Waiting:
		a.waited, a.Left = true, time.Time{}
		return false, 0
	case !a.waited && !doing.Since.After(mail.FromSeconds(a.AskedAt).Add(Behind)):
		return false, 0 // its record may be written a moment behind the request
	case a.Left.IsZero():
		a.Left = now
	}
	again = a.Left.Add(BetweenTwo).Sub(now)
	return again <= 0, max(again, 0)
}

// tell gives the client a verdict. That it took it nobody knows: it drops what it did not ask for without a word.
func (r *Relay) tell(q permission.Request) error {
	behavior := "deny"
	if q.State == permission.StateAllowed {
		behavior = "allow"
	}
	err := r.srv.SendNotificationToSpecificClient(StdioID, PermissionVerdict, map[string]any{"request_id": q.ID, "behavior": behavior})
	if err != nil && !errors.Is(err, server.ErrNotificationChannelBlocked) {
		r.warn("send a verdict to the client", err)
	}
	return err
}

// leave writes that the client is gone.
func (r *Relay) leave(open []*Asked) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Ctx), closingTime)
	defer cancel()
	for _, a := range open {
		if err := a.store.Settle(ctx, a.Session, a.ID, permission.SettledGone); err != nil {
			r.warn("write that the session of a permission request is gone", err)
		}
	}
}
