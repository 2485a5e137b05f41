package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/broker/ringer"
	"c2c/wake/plugin"
)

const pluginHelp = `usage: c2c plugin <client>

The other end of c2c's plugin inside a client, on standard input and output,
until the input ends. The plugin starts it.
`

// plugin carries the mail of the sessions that a plugin of ours names.
func (a *app) plugin(ctx context.Context, args []string) error {
	fs := a.verb("plugin", pluginHelp, "plugin opencode < lines.jsonl")
	pid := fs.Int("process", 0, "the client's process `id`; without it, the parent's")
	names, err := fs.read(args)
	if err != nil {
		return err
	}
	if len(names) != 1 {
		return fmt.Errorf("%w: c2c plugin <client>", errUsage)
	}
	profile, known := client.Find(names[0])
	if !known {
		return fmt.Errorf("%w: no such client %q", errUsage, names[0])
	}
	if *pid == 0 {
		*pid = os.Getppid()
	}
	p := &pluginSessions{app: a, client: profile.Name, pid: *pid}
	defer p.leave()
	link := plugin.New(a.stdout, p.meet)
	defer a.ringer(ringer.Plugin(link)).Start(ctx)()
	return link.Run(ctx, a.stdin)
}

// pluginSessions are the mailboxes of one client process.
type pluginSessions struct {
	app    *app
	client string
	pid    int // the client's process

	mu      sync.Mutex
	release []func() error // of the locks that show that they are served
	served  map[string]bool
}

// meet finds or makes the mailbox of a session.
func (p *pluginSessions) meet(ctx context.Context, id string) (sid string, err error) {
	b, err := p.app.open(p.app.log)
	if err != nil {
		return "", err
	}
	defer b.Close()
	s, err := b.Attach(ctx, broker.Caller{Client: p.client, ClientID: id, PID: p.pid, Getenv: p.app.getenv})
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.served[s.ID] {
		release, err := b.Serve(s.ID)
		if err != nil {
			return "", err
		}
		if p.served == nil {
			p.served = map[string]bool{}
		}
		p.served[s.ID], p.release = true, append(p.release, release)
	}
	return s.ID, nil
}

func (p *pluginSessions) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, release := range p.release {
		release()
	}
}
