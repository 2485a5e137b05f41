package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"c2c/broker"
	clients "c2c/broker/client"
	"c2c/hooks"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/wake"
)

// hookTime bounds a hook below the 5 s of the script: a tool call must not hang on us.
const hookTime = 4 * time.Second

// byHook names the hook as a reader and as a method.
const byHook = "hook"

// exitRing, for FileChanged alone, has Claude Code wake its session
// (asyncRewake) with what stands on stderr.
const exitRing = 2

// errRing is a ring that was written to stderr.
var errRing = errors.New("mail waits and nobody else rings")

// hook answers one event. It never fails, as a client may take a hook's exit
// status for a verdict on the tool call; what went wrong goes to stderr.
func hook(set *flag.FlagSet) action {
	known := hooks.Clients()
	client := set.String("client", known[0], strings.Join(known, " or "))
	return func(ctx context.Context, a *app, _ []string) error {
		ctx, cancel := context.WithTimeout(ctx, hookTime)
		defer cancel()
		err := a.hook(ctx, *client)
		if errors.Is(err, errRing) {
			return err
		}
		if err != nil {
			fmt.Fprintf(a.stderr, "c2c: %v\n", err)
		}
		return nil
	}
}

func (a *app) hook(ctx context.Context, client string) error {
	e, err := hooks.Parse(client, a.stdin)
	if err != nil || !e.ShowsMail() && !e.Watches() && !e.Changed() {
		return err
	}
	b, err := a.open()
	if err != nil {
		return err
	}
	defer b.Close()
	profile, _ := clients.Find(client)
	pid, _ := strconv.Atoi(a.getenv(profile.ProcessEnv)) // 0: not told
	caller := broker.Caller{Client: client, ClientID: e.SessionID, PID: pid, Getenv: a.getenv}
	s, err := b.Attach(ctx, caller)
	if err != nil {
		return err
	}
	if err := a.writePointer(e.Pointer(a.getenv), filepath.Join(b.Root(), s.ID)); err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err) // without it each hook asks us
	}
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return err
	}
	if e.Changed() {
		if hooks.OneShot(caller.PID) {
			return nil
		}
		return a.ring(ctx, b, s.ID, box)
	}
	if e.Watches() {
		if e.Watch, err = b.Watchable(box.LockName()); err != nil {
			return err
		}
		return a.noMail(e)
	}
	return a.handMail(ctx, b, s, box, e)
}

// ring wakes the session when its server, which rings otherwise, is gone: then
// nobody holds the lock of its ringer. It holds that itself until it has rung,
// so that hooks of one mail after the other are not two rings.
func (a *app) ring(ctx context.Context, b *broker.Broker, sid string, box *inbox.Mailbox) error {
	release, free, err := b.BorrowRinging(sid)
	if err != nil || !free {
		return err
	}
	defer release()
	msgs, err := box.Head(ctx, wake.MaxLook)
	if err != nil || len(msgs) == 0 {
		return err
	}
	s, err := b.Resolve(ctx, broker.Caller{Explicit: sid}) // with the lock: another hook may just have rung
	if err != nil {
		return err
	}
	ring, notice := wake.Due(time.Now(), msgs, s.Quiet, s.LastRing)
	if ring.Method = wake.ByFile; ring.Outcome != wake.Rang {
		return b.Rang(ctx, sid, ring)
	}
	if _, err := fmt.Fprintln(a.stderr, notice.Sentinel("it is shown beside this; if not, run: c2c poll-inbox")); err != nil {
		return err
	}
	if err := b.Rang(ctx, sid, ring); err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err)
	}
	return errRing
}

// handMail leases, writes, and only then acknowledges: killed in between, the
// mail is offered again.
func (a *app) handMail(ctx context.Context, b *broker.Broker, s broker.Session, box *inbox.Mailbox, e hooks.Event) error {
	if e.HasMail() {
		if err := box.Receive(ctx, e.Holds, wake.BySocket, wake.ByChannel); err != nil {
			return err
		}
	}
	l, err := box.LeaseSome(ctx, byHook, int64(4*e.Limit()))
	if err != nil || len(l.Messages) == 0 {
		return errors.Join(err, release(l), a.noMail(e))
	}
	var had, rest []string // handles
	var left []inbox.Message
	for _, m := range l.Messages {
		if e.Holds(m) { // what carried it had given up waiting
			had = append(had, m.Handle())
		} else {
			left, rest = append(left, m), append(rest, m.Handle())
		}
	}
	answer, err := hooks.Render(e, left, l.More)
	if err != nil {
		return errors.Join(err, l.Release())
	}
	for _, i := range answer.Shown {
		had = append(had, rest[i])
	}
	announced := ""
	if len(answer.Announced) > 0 {
		announced = rest[answer.Announced[0]]
	}
	if last := s.LastRing; len(had) == 0 && e.Name == "PostToolUse" && last.Oldest == announced && (last.Method == byHook || last.Outcome == broker.Handed) {
		return l.Release() // said already, and nobody has drained since
	}
	a.stdout.Write(answer.Output)
	if err := a.handOver(); err != nil {
		return errors.Join(err, l.Release())
	}
	if len(had) > 0 {
		err = l.Ack(ctx, had...)
	} else {
		err = l.Release()
	}
	if announced != "" {
		ring := wake.Ring{At: time.Now(), Method: byHook, Outcome: wake.Rang, Oldest: announced}
		err = errors.Join(err, b.Rang(ctx, s.ID, ring))
	}
	return err
}

// noMail answers an event to which there is nothing else to say.
func (a *app) noMail(e hooks.Event) error {
	answer, err := hooks.Render(e, nil, false)
	if err == nil && answer.Output != nil {
		_, err = a.stdout.Write(answer.Output)
	}
	return err
}

func release(l *inbox.Lease) error {
	if l == nil {
		return nil
	}
	return l.Release()
}

// writePointer tells the hook script where the mailbox is, so that it need not ask us
// while the mailbox is empty. There is no script when path is "".
func (a *app) writePointer(path, box string) error {
	if path == "" || strings.ContainsAny(box, "\n\x00") {
		return nil
	}
	if old, err := os.ReadFile(path); err == nil && string(old) == box+"\n" {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read pointer: %w", err)
	}
	dir, err := atomicfile.Create(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Write(filepath.Base(path), []byte(box+"\n"))
}
