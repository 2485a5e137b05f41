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
	"c2c/sessions/callers"
	"c2c/sessions/permission"
	"c2c/wake/watch"
)

// Names in the protocol of the permission relay (Claude Code's Channels reference, "Relay
// permission prompts").
const (
	permissionCapability = client.ChannelCapability + "/permission"
	PermissionRequest    = ChannelNotification + "/permission_request"
	PermissionVerdict    = ChannelNotification + "/permission"
)

// Relay forwards the permission dialogs of a client with a channel. It stores each dialog as a
// request of package permission, and sends the verdict to the client. Until then the dialog stays
// open, and a person can still answer in it.
//
// The client never waits for Relay: a goroutine of the relay does the work until Close.
type Relay struct {
	Lifetime time.Duration // how long a request may be answered; zero: permission.Lifetime
	Log      *slog.Logger  // for requests that cannot be relayed; nil discards

	peer *Peer
	srv  *server.MCPServer

	mu      sync.Mutex
	queue   []asking       // requests that the goroutine has not taken yet
	changes *watch.Changes // watches files for the goroutine; nil before the first request, with which the goroutine begins
	ctx     context.Context
	stop    context.CancelFunc
	done    sync.WaitGroup

	client string // the client that has sent the last request; only the goroutine uses it
}

const (
	maxAsking      = 64                      // requests that wait for the goroutine
	relayGap       = 50 * time.Millisecond   // the shortest time between two looks at the requests
	relayRetry     = time.Second             // the time until another try, after an error
	closingTime    = 2 * time.Second         // for recording that the client has ended; without the record, the request's free lock shows that
	recordDelay    = 3 * time.Second         // within this time after a request the client records that it waits
	betweenDialogs = 1500 * time.Millisecond // see answered
)

// asking is a request as the client has sent it.
type asking struct {
	permission.Request
	caller callers.Caller
}

// asked is a request that is on the disk.
type asked struct {
	permission.Request
	store  *permission.Store
	waited bool      // c2c has seen the client wait for its person
	left   time.Time // when c2c first saw that the client no longer waits
	sent   bool      // the client has the verdict
}

// Attach makes the relay part of the server srv. It must be called before the server runs.
func (r *Relay) Attach(t *Tools, srv *server.MCPServer, hooks *server.Hooks) {
	r.peer, r.srv = t.Only, srv
	r.ctx, r.stop = context.WithCancel(context.Background())
	hooks.AddAfterInitialize(func(_ context.Context, _ any, _ *mcp.InitializeRequest, result *mcp.InitializeResult) {
		// Change a copy, because mcp-go gives the same map to every client.
		all := maps.Clone(result.Capabilities.Experimental)
		all[permissionCapability] = map[string]any{}
		result.Capabilities.Experimental = all
	})
	srv.AddNotificationHandler(PermissionRequest, r.receive)
}

// relayWhy says that the client reports its permission dialogs.
const relayWhy = "on: c2c has asked the client to report its permission dialogs; the client does not tell whether it does"

// receive queues a request from the client for the goroutine.
func (r *Relay) receive(ctx context.Context, n mcp.JSONRPCNotification) {
	text := func(key string) string {
		s, _ := n.Params.AdditionalFields[key].(string)
		return s
	}
	a := asking{caller: r.peer.caller(ctx, mcp.CallToolRequest{}), Request: permission.Request{ID: text("request_id"),
		Tool: text("tool_name"), Description: text("description"), Input: text("input_preview")}}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	if len(r.queue) >= maxAsking {
		r.warn("permission request is not relayed", permission.ErrFull)
		return
	}
	r.queue = append(r.queue, a)
	if r.changes == nil {
		r.changes = watch.NewChanges()
		r.done.Go(r.run)
	} else {
		r.changes.Recheck()
	}
}

// Close ends the relay, and records that the client of the open requests has ended.
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
	all := r.queue
	r.queue = nil
	return all
}

// run works on the requests until the relay is closed.
func (r *Relay) run() {
	defer r.changes.Close()
	var open []*asked
	r.changes.Each(r.ctx, relayGap, func() (files []string, wait time.Duration, err error) {
		for _, a := range r.take() {
			if one := r.ask(a); one != nil {
				open = append(open, one)
			}
		}
		if len(open) > 0 {
			open, files, wait = r.advanceAll(open)
		}
		return files, wait, nil
	})
	r.leave(open)
}

// ask writes a request to the disk. If that fails, it returns nil; a person can still answer the
// client's dialog.
func (r *Relay) ask(a asking) *asked {
	if r.peer.Cfg.Uninstalled != nil && r.peer.Cfg.Uninstalled(r.peer.Client.Configured, r.peer.Process()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, cmp.Or(r.peer.Cfg.LockWait, lockWait))
	defer cancel()
	b, err := r.peer.Open()
	if err != nil {
		r.warn("open the broker for a permission request", err)
		return nil
	}
	s, err := b.Attach(ctx, a.caller)
	if err != nil {
		r.warn("permission request without a session", err)
		return nil
	}
	r.peer.Remember(b, s)
	a.Session, a.Alias = s.ID, s.Alias
	r.client = a.caller.Client
	now := time.Now()
	a.AskedAt, a.ExpiresAt = mail.Seconds(now), mail.Seconds(now.Add(cmp.Or(r.Lifetime, permission.Lifetime)))
	store := permission.Open(b.Dir(), time.Now).LogTo(b.Events.WriteTexts)
	if err := store.Ask(ctx, a.Request); err != nil {
		r.warn("permission request is not relayed", err)
		return nil
	}
	return &asked{Request: a.Request, store: store}
}

// advanceAll advances each request. It returns the requests that are still open, the files to
// watch, and the time after which it must be called again.
func (r *Relay) advanceAll(open []*asked) (left []*asked, files []string, wait time.Duration) {
	doing, dir := r.doing()
	for _, a := range open {
		over, pause := r.advance(a, doing)
		if over {
			continue
		}
		left, files = append(left, a), append(files, a.store.LockPath())
		if pause > 0 && (wait == 0 || pause < wait) {
			wait = pause
		}
	}
	if dir != "" {
		files = append(files, dir)
	}
	return left, files, wait
}

// doing reads the client's own record of its state, such as waiting for its person. It also returns
// the directory to watch for changes of that record.
func (r *Relay) doing() (client.Doing, string) {
	profile, _ := client.Find(r.client)
	if profile.Doing == nil || r.peer.Client.Getenv == nil {
		return client.Doing{}, ""
	}
	config, _ := profile.Config(r.peer.Client.Getenv)
	return profile.Doing(config, r.peer.Process(), ""), filepath.Join(config, profile.DoingDir)
}

// advance moves a request one step on. The result over means that the request is finished.
// Otherwise the caller must call advance once more after the time wait.
func (r *Relay) advance(a *asked, doing client.Doing) (over bool, wait time.Duration) {
	ctx, cancel := context.WithTimeout(r.ctx, cmp.Or(r.peer.Cfg.LockWait, lockWait))
	defer cancel()
	now, err := a.store.Get(a.Session, a.ID)
	how := permission.StateGone // for a request that has already ended, Settle ignores this
	switch {
	case errors.Is(err, permission.ErrUnknown):
	case err != nil:
		r.warn("read a permission request", err)
		return false, relayRetry
	case !now.Same(a.Request): // a person has seen another request than the client has sent
		r.warn("a permission request was changed", errors.New(now.Name()))
		how = permission.StateForged
	case now.State == permission.StateOpen:
		answered, wait := a.answered(doing, time.Now())
		if !answered {
			return false, cmp.Or(wait, max(time.Until(mail.FromSeconds(now.ExpiresAt)), relayGap))
		}
		how = permission.StateTerminal
	case now.State == permission.StateForged:
		r.warn("a verdict is not in the audit, and does not count", errors.New(now.Name()))
	case now.State == permission.StateAllowed || now.State == permission.StateDenied:
		if !a.sent {
			if err := r.tell(now); err != nil {
				return false, relayRetry
			}
			a.sent = true
		}
		how = permission.Sent
	}
	if err := a.store.Settle(ctx, a.Session, a.ID, how); err != nil && !errors.Is(err, permission.ErrUnknown) {
		r.warn("write how a permission request ended", err)
		return false, relayRetry
	}
	return true, 0
}

// answered reports whether a person has answered in the client's dialog: the client has waited for
// its person, and then has stopped waiting for at least betweenDialogs. A shorter stop may be the
// moment between two dialogs. If answered cannot decide yet, the caller must call it once more
// after the time wait.
func (a *asked) answered(doing client.Doing, now time.Time) (yes bool, wait time.Duration) {
	switch {
	case doing.Word == "":
		return false, 0
	case doing.Word == client.Waiting:
		a.waited, a.left = true, time.Time{}
		return false, 0
	case !a.waited && !doing.Since.After(mail.FromSeconds(a.AskedAt).Add(recordDelay)):
		return false, 0 // the client may write its record a moment after the request
	case a.left.IsZero():
		a.left = now
	}
	wait = a.left.Add(betweenDialogs).Sub(now)
	return wait <= 0, max(wait, 0)
}

// tell sends the client a verdict. There is no receipt: the client silently drops a verdict that it
// does not wait for.
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

// leave writes into the open requests that their client has ended.
func (r *Relay) leave(open []*asked) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), closingTime)
	defer cancel()
	for _, a := range open {
		if err := a.store.Settle(ctx, a.Session, a.ID, permission.StateGone); err != nil {
			r.warn("record that the session of a permission request is gone", err)
		}
	}
}
