package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/ringer"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/claims"
	"c2c/wake"
	"c2c/wake/plugin"
	"c2c/wake/watch"
)

func init() { verbs["plugin"] = (*call).plugin }

// plugin delivers mail to sessions of one client process. c2c's plugin in the client names these
// sessions.
func (a *call) plugin(ctx context.Context) error {
	pid := a.Int("process")
	names, err := a.words()
	if err != nil {
		return err
	}
	if len(names) != 1 {
		return fmt.Errorf("%w: the name of the client is missing", errUsage)
	}
	profile, known := client.Find(names[0])
	if !known || !profile.Plugin {
		return fmt.Errorf("%w: no plugin of c2c runs in %q", errUsage, names[0])
	}
	if *pid == 0 {
		*pid = os.Getppid()
	}
	p := &pluginSessions{app: a.app, client: profile.Name, pid: *pid, alias: profile.ProposedAlias(a.cwd)}
	defer p.leave()
	ctx, end := context.WithCancel(ctx)
	defer p.bringing.Wait()
	defer end()
	link := plugin.New(a.stdout, p.meet)
	link.Worked, link.Answered, link.Edits = p.worked, p.answered, p.edits
	link.News = p.news
	link.Begun = func(sid string, c wake.Carrier) {
		p.bringing.Go(func() {
			if err := p.bring(ctx, sid, c); err != nil && ctx.Err() == nil {
				a.log.Warn("mail that wakes nobody was not brought", "session", sid, "err", err)
			}
		})
	}
	stop, started := func() {}, a.getenv(client.StartEnv)
	ring := func() { stop = a.ringer(ringer.Plugin(profile.Name, started, link)).Start(ctx) }
	p.begin = func(id string) {
		a.owner = callers.Caller{Client: profile.Name, ClientID: id} // if the session runs already, it keeps its root
		ring()
	}
	if started != "" { // mail may begin the first session
		p.once.Do(ring)
	}
	defer func() { stop() }()
	return link.Run(ctx, a.stdin)
}

// editTime bounds how long a tool call waits for the search for claims, and how long a prompt waits
// for the search for new posts.
const editTime = 2 * time.Second

// pluginSessions are the mailboxes of one client process.
type pluginSessions struct {
	app      *app
	client   string
	pid      int    // the client's process
	alias    string // the alias that the project proposes, or empty
	once     sync.Once
	bringing sync.WaitGroup  // the calls of bring
	begin    func(id string) // is called with the first session: it decides the root, and starts to ring

	b      *broker.Broker
	served map[string]func() error // by session id: the function that releases the session's server lock
}

// open returns the broker of the root. It opens a new one if the root was removed and made again.
func (p *pluginSessions) open() (*broker.Broker, error) {
	if p.b != nil && !p.b.Replaced() {
		return p.b, nil
	}
	b, err := p.app.open(p.app.log)
	if err == nil {
		p.leave()
		p.b, p.served = b, map[string]func() error{}
	}
	return b, err
}

// meet finds or makes the mailbox of a session. It is called for each line of the plugin that only
// names a session.
func (p *pluginSessions) meet(ctx context.Context, id string) (sid string, err error) {
	p.once.Do(func() { p.begin(id) })
	b, err := p.open()
	if err != nil {
		return "", err
	}
	s, err := b.Attach(ctx, callers.Caller{Client: p.client, ClientID: id, PID: p.pid, Getenv: p.app.getenv, Alias: p.alias, Proposed: true})
	if err == nil {
		err = b.SetMod(ctx, s)
	}
	if err != nil || p.served[s.ID] != nil {
		return s.ID, err
	}
	release, err := b.Locks.Serve(s.ID)
	if release != nil { // nil: prune holds the lock for a moment; meet tries again when the plugin names the session again
		p.served[s.ID] = release
	}
	return s.ID, err
}

// bring hands over the mail that wakes nobody, into a turn that has begun. If other mail waits too,
// the ringer brings all of it.
func (p *pluginSessions) bring(ctx context.Context, sid string, c wake.Carrier) error {
	b, err := p.app.open(p.app.log)
	if err != nil {
		return err
	}
	defer b.Close()
	box, err := b.Mailbox(sid)
	if err != nil {
		return err
	}
	msgs, err := box.Head(ctx, wake.MaxLook)
	if err != nil || len(msgs) == 0 {
		return err
	}
	s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: sid})
	if err != nil || len(wake.MayWake(msgs)) > 0 && !s.Quiet {
		return err
	}
	return watch.Carry(ctx, box, wake.Method{Name: wake.ByPlugin, Carrier: c})
}

// worked records what a session has done, for the loop guard.
func (p *pluginSessions) worked(sid, how string) {
	b, err := p.open()
	if err != nil {
		return // meet reports the error when the plugin names a session again
	}
	switch how {
	case plugin.ByTool, plugin.ByPrompt:
		err = sessions.SawWork(b.Registry, sid, how == plugin.ByTool)
	case plugin.ByMail:
		err = sessions.SeesTools(b.Registry, sid)
	}
	if err != nil {
		p.app.log.Warn("the work of a session was not recorded", "session", sid, "err", err)
	}
}

// answered records what the plugin reports about the answers of a session's model.
func (p *pluginSessions) answered(ctx context.Context, sid, how, failed string) {
	b, err := p.open()
	if err != nil {
		return // meet reports the error when the plugin names a session again
	}
	switch {
	case failed != "":
		err = sessions.SawFailure(ctx, b.Registry, sid, failed)
	case how == plugin.Answered:
		err = sessions.SawAnswer(b.Registry, sid, time.Time{})
	case how == plugin.WillAnswer:
		err = sessions.ExpectAnswers(b.Registry, sid)
	}
	if err != nil {
		p.app.log.Warn("the answer of a session's model was not recorded", "session", sid, "err", err)
	}
}

// edits returns a text that names the other sessions with claims on files that a session is about
// to change.
func (p *pluginSessions) edits(ctx context.Context, sid string, paths []string) (text string, refused bool) {
	b, err := p.open()
	if err != nil || !claims.There(b.Registry) {
		return "", false // meet reports the error when the plugin names a session again
	}
	ctx, cancel := context.WithTimeout(ctx, editTime)
	defer cancel()
	s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: sid})
	if err == nil {
		text, refused, err = claims.Holders(ctx, b.Registry, s, paths, true)
	}
	switch {
	case err != nil:
		p.app.log.Warn("the holders of a file are not known", "session", sid, "err", err)
		return "", false
	case text == "":
		return "", false
	case refused:
		return "c2c: " + text + claims.Refuses, true
	}
	return "c2c: " + text + claims.Edited, false
}

// news finds the posts that are new to a session. The function seen records that the session's
// model has these posts.
func (p *pluginSessions) news(ctx context.Context, sid string) (text string, seen func()) {
	b, err := p.open()
	if err != nil || sessions.Uninstalled(p.app.getenv, p.client, p.pid) {
		return "", nil // meet reports the error when the plugin names a session again
	}
	ctx, cancel := context.WithTimeout(ctx, editTime)
	defer cancel()
	s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: sid})
	if err != nil || !s.Facts.InRooms {
		return "", nil
	}
	news, err := rooms.NewsFor(ctx, b.Registry, s, false)
	if err != nil { // go on: news may still have the posts of other rooms
		p.app.log.Warn("new posts are not known", "session", sid, "err", err)
	}
	seen = func() {
		ctx, cancel := context.WithTimeout(context.Background(), editTime)
		defer cancel()
		if err := news.Seen(ctx); err != nil {
			p.app.log.Warn("could not record the seen posts", "session", sid, "err", err)
		}
	}
	if news.OnlyGone() {
		seen()
	}
	return news.Text(rooms.DigestSize), seen
}

func (p *pluginSessions) leave() {
	for _, release := range p.served {
		release()
	}
	if p.b != nil {
		p.b.Close()
	}
}
