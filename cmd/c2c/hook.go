package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/cmd/cli"
	"c2c/hooks"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/wake"
)

// hookTime bounds a hook below the 5 s of the script: a tool call must not hang on us.
const hookTime = 4 * time.Second

// exitTold has a client show its model what stands on standard error: for a ring, and where its protocol has the
// answer there.
const exitTold = 2

// errTold says that it stands there.
var errTold = errors.New("the client reads the answer from standard error")

// hook answers one event. Its errors are told and are no exit status, which a
// client may take for a verdict on the tool call.
func hook(c *call, f *cli.Flags) action {
	name := f.Text("client")
	return func(ctx context.Context) error {
		limit, end := within(ctx, hookTime)
		defer end()
		return c.hook(limit, cmp.Or(*name, hooks.Clients()[0]))
	}
}

func (a *app) hook(ctx context.Context, name string) error {
	profile, _ := client.Find(name)
	config, _ := profile.Config(a.getenv)
	e, err := hooks.Parse(name, a.stdin)
	does := broker.State(e.Does())
	if err != nil || !e.ShowsMail() && !e.TellsLater() && !e.Watches() && !e.Changed() && !e.Opened() && !e.Prompted() && !e.Works() && !e.MayAnswer() && e.Failure() == "" && does == "" {
		return err
	}
	if dir := a.getenv(profile.ProjectEnv); filepath.IsAbs(dir) {
		a.cwd = dir
	}
	b, err := a.open()
	if err != nil {
		return err
	}
	defer b.Close()
	pid := a.clientProcess(profile, b)
	if a.getenv(hooks.PluginEnv) == "" && broker.Uninstalled(a.getenv, name, pid) {
		return nil // the client has read our hooks before they were taken out
	}
	caller := broker.Caller{Client: name, ClientID: e.SessionID, PID: pid, Getenv: a.getenv}
	s, err := hookSession(ctx, b, &e, caller)
	if errors.Is(err, broker.ErrRegistryFull) && e.TellsTrouble() {
		return a.tellTrouble(e, err)
	}
	if err != nil || s.ID == "" {
		return err
	}
	if err := errors.Join(sawWork(b, s, e), a.sawAnswer(ctx, b, s, e, config, time.Now())); err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err) // it is no reason to keep its mail back
	}
	if profile.Plugin {
		ours, err := b.LeftToPlugin(s)
		if err == nil && ours && does != "" {
			err = b.SetTurn(ctx, s, does, wake.ByPlugin) // it tells the rest
		}
		if err != nil || ours {
			return err
		}
		does = ""
	}
	if does != "" {
		if err := b.SetTurn(ctx, s, does, broker.ByHook); err != nil {
			fmt.Fprintf(a.stderr, "c2c: %v\n", err) // no reason to keep its mail back
		}
	}
	if e.LeavesMail() {
		if left, err := b.LeftToRinger(ctx, s); err != nil || left {
			return err
		}
	}
	state, _ := broker.StateDir(a.getenv)
	if err := a.writePointer(e.Pointer(state), filepath.Join(b.Root(), s.ID)); err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err) // without it each hook asks us
	}
	if e.Changed() {
		return a.ringByFile(ctx, b, s, e, config, pid)
	}
	again, err := b.SawDropped(ctx, s, e.Dropped())
	if err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err) // no reason to keep other mail back
	}
	if shows, err := place(b, s, &e, config, len(again) > 0); err != nil || !shows {
		return err
	}
	if !e.ShowsMail() && !e.Watches() && !(e.TellsLater() && len(s.Unseen()) > 0) {
		return nil
	}
	return a.answerHook(ctx, b, s, e, again)
}

// tellTrouble has the client show why the session has no mailbox, and what to do: what stands on standard error nobody sees.
func (a *app) tellTrouble(e hooks.Event, cause error) error {
	e.Note = "c2c: this session has no mailbox, so it can neither write to other agents nor read what they write: " + cause.Error() + ". Tell your user."
	out, err := hooks.Render(e, nil, false)
	if err != nil {
		return err
	}
	a.stdout.Write(out.Output)
	return a.handOver()
}

// sawWork records for the loop guard what an event tells of its session's work.
func sawWork(b *broker.Broker, s broker.Session, e hooks.Event) error {
	switch {
	case e.Works():
		return b.SawWork(s.ID, e.UsesTool())
	case e.UsesTool():
		return b.SeesTools(s.ID)
	}
	return nil
}

// sawAnswer records what an event tells of the session's model, before mail is handed over with the event.
func (a *app) sawAnswer(ctx context.Context, b *broker.Broker, s broker.Session, e hooks.Event, config string, now time.Time) error {
	if why := e.Failure(); why != "" {
		return b.SawFailure(ctx, s.ID, why)
	}
	if e.Name == "SessionStart" {
		a.expectAnswers(b, s, e)
	}
	if e.MayAnswer() {
		if at := e.Answered(config, now); !at.IsZero() {
			return b.SawAnswer(s.ID, at)
		}
	}
	return nil
}

// expectAnswers has what is handed over wait for an answer. A script of ours from before calls c2c for none.
func (a *app) expectAnswers(b *broker.Broker, s broker.Session, e hooks.Event) {
	if !e.TellsAnswers() || e.RunsScript() && a.getenv(hooks.ScriptEnv) == "" {
		return
	}
	if err := b.ExpectAnswers(s.ID); err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err) // then it counts as read at once
	}
}

// clientProcess is the client's process that runs a hook, 0 when nothing tells.
func (a *app) clientProcess(p client.Profile, b *broker.Broker) int {
	switch {
	case p.DetachedHooks:
		return b.Starter()
	case p.ChildHooks:
		return os.Getppid()
	}
	pid, _ := strconv.Atoi(a.getenv(p.ProcessEnv))
	return pid
}

// place finds out in which agent an event has happened, which may take time: so not when there is nothing to show.
func place(b *broker.Broker, s broker.Session, e *hooks.Event, config string, again bool) (shows bool, err error) {
	if !e.Unplaced() || !e.ShowsMail() {
		return true, nil
	}
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return false, err
	}
	late := e.TellsLater() && len(s.Unseen()) > 0
	if some, err := box.Waiting(); err != nil || !some && e.Note == "" && !late && !again {
		return false, err
	}
	e.Place(config)
	return true, nil
}

// ringByFile rings the session of a client whose file watcher has called, when nobody else rings it.
func (a *app) ringByFile(ctx context.Context, b *broker.Broker, s broker.Session, e hooks.Event, config string, pid int) error {
	if client.OneShot(s.Client, pid) {
		return nil
	}
	rang, err := b.RingOnce(ctx, s.ID, func(n wake.Notice) error {
		if said := e.Inbound(config, a.getenv); said != "" {
			return fmt.Errorf("%w: %s", wake.ErrRefused, said)
		}
		_, err := fmt.Fprintln(a.stderr, n.Text("it is shown beside this; if not, run: c2c poll-inbox"))
		return err
	})
	if !rang {
		return err
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err)
	}
	return errTold
}

// hookSession gives the session of an event. It has no id when the event may be that of none, or needs nothing more.
func hookSession(ctx context.Context, b *broker.Broker, e *hooks.Event, c broker.Caller) (broker.Session, error) {
	if !e.ByProcess() {
		return b.Attach(ctx, c)
	}
	s, err := b.Resolve(ctx, broker.Caller{Getenv: c.Getenv})
	if errors.Is(err, broker.ErrNoSession) || err == nil && s.Client != c.Client {
		return broker.Session{}, nil // its server has not been called yet, or it runs inside another client
	}
	if err == nil && e.Prompted() {
		return broker.Session{}, b.SetConversation(ctx, s, e.Conversation)
	}
	e.Within(s.Conversation())
	return s, err
}

// answerHook shows mail, or asks the client to watch for it. again is what it has dropped, and gets once more.
func (a *app) answerHook(ctx context.Context, b *broker.Broker, s broker.Session, e hooks.Event, again []inbox.Message) error {
	var out hooks.Answer
	told := false
	var shown, handedAgain []string
	e.Now = time.Now()
	if len(again) > 0 {
		e.Note = "" // which tells of that mail
	}
	if err := carried(ctx, b, s, &e); err != nil {
		return err
	}
	h := broker.Reader{
		By: broker.ByHook, Limit: int64(4 * e.Limit()), Often: e.Often(),
		Render: func(msgs []inbox.Message, more bool) (_, announced []int, err error) {
			all := append(slices.Clip(again), msgs...)
			out, err = hooks.Render(e, all, more)
			var own []int
			for _, i := range out.Shown {
				shown = append(shown, all[i].ID)
				if i < len(again) {
					handedAgain = append(handedAgain, all[i].ID)
				} else {
					own = append(own, i-len(again))
				}
			}
			for _, i := range out.Announced {
				if i >= len(again) {
					announced = append(announced, i-len(again))
				}
			}
			return own, announced, err
		},
		Write: func() error {
			if len(out.Shown) > 0 {
				a.expectAnswers(b, s, e)
			}
			told = e.OnError() && out.Output != nil
			a.stdout.Write(out.Output)
			return a.handOver()
		},
	}
	h.Holds = e.Holds()
	if e.OnError() {
		a.stdout.(*answer).to = a.stderr.(*inbox.VisibleWriter).W
	}
	if !e.Watches() {
		err := b.HandOver(ctx, s, h)
		if err == nil {
			err = b.HandedAgain(ctx, s, handedAgain)
		}
		switch {
		case err != nil:
			return err
		case e.TellsLater():
			err = b.ChangeUnseen(ctx, s, s.Unseen(), nil)
		case e.Untold():
			err = b.ChangeUnseen(ctx, s, nil, shown)
		}
		if told {
			return errTold
		}
		return err
	}
	// Mail would lie beside an empty prompt: the session is rung for it.
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return err
	}
	if e.Watch, err = b.Watchable(box.LockName()); err != nil {
		return err
	}
	if _, _, err := h.Render(nil, false); err != nil {
		return err
	}
	return h.Write()
}

// carried finds the mail that the model has, and the client's person was not told of.
func carried(ctx context.Context, b *broker.Broker, s broker.Session, e *hooks.Event) error {
	if !e.CarriesMail() && !(e.TellsLater() && len(s.Unseen()) > 0) {
		return nil
	}
	box, err := b.Mailbox(s.ID)
	if err == nil && e.CarriesMail() {
		e.Carried, err = box.Held(ctx, wake.ByServer)
	}
	if err != nil || e.CarriesMail() {
		return err
	}
	for _, id := range s.Unseen() {
		found, err := box.Find(ctx, id)
		if err != nil {
			return err
		}
		for _, f := range found {
			e.Carried = append(e.Carried, f.Message)
		}
	}
	return nil
}

// writePointer tells the hook script where the mailbox is, so that it need not ask us
// while the mailbox is empty. There is no script when path is "".
func (a *app) writePointer(path, box string) error {
	if path == "" || strings.ContainsAny(box, "\n\x00") {
		return nil
	}
	dir, err := atomicfile.Create(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(path)
	if old, err := dir.Read(name); err == nil && string(old) == box+"\n" {
		return nil
	}
	return dir.Write(name, []byte(box+"\n")) // also in the place of a FIFO or a link
}
