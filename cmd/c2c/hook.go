package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/hooks"
	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/registry"
	"c2c/sessions/turns"
	"c2c/wake"
)

// hookTime bounds a hook below the 5 s of the script: a tool call must not hang on us.
const hookTime = 4 * time.Second

// exitTold is the exit status with which a client shows its model our standard error: for a ring, and where its protocol has
// the answer there.
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
	if err != nil || !concerns(e) {
		return err
	}
	if dir := a.getenv(profile.ProjectEnv); filepath.IsAbs(dir) {
		a.cwd = dir
	}
	b, err := a.open()
	if err != nil {
		return a.tellTrouble(e, err)
	}
	defer b.Close()
	pid := a.clientProcess(profile, b)
	if a.getenv(hooks.PluginEnv) == "" && sessions.Uninstalled(a.getenv, name, pid) {
		return nil // the client has read our hooks before they were taken out
	}
	caller := callers.Caller{Client: name, ClientID: e.SessionID, PID: pid, Getenv: a.getenv}
	s, err := hookSession(ctx, b, &e, caller)
	if err != nil || s.ID == "" {
		return a.tellTrouble(e, err)
	}
	if ours, err := a.record(ctx, b, s, e, config, profile); err != nil || ours {
		return err
	}
	if e.LeavesMail() {
		if left, err := moves.LeftToRinger(ctx, b.Registry, s); err != nil || left {
			return err
		}
	}
	state, _ := project.StateDir(a.getenv)
	if err := a.writePointer(e.Pointer(state), filepath.Join(b.Root(), s.ID)); err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err) // without it each hook asks us
	}
	if e.Changed() {
		return a.ringByFile(ctx, b, s, e, config, pid)
	}
	again, err := turns.SawDropped(ctx, b.Registry, s, e.Dropped())
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

// tellTrouble makes the client show an error that a person has to repair, at events whose answer may have such a text: nobody sees
// a hook's standard error. Other errors are returned.
func (a *app) tellTrouble(e hooks.Event, cause error) error {
	says := ""
	switch {
	case cause == nil || !e.TellsTrouble():
	case errors.Is(cause, registry.ErrFull):
		says = "this session has no mailbox, so it can"
	case slices.ContainsFunc(repairs, func(one error) bool { return errors.Is(cause, one) }):
		says = "something is to be repaired, until then this session can"
	}
	if says == "" {
		return cause
	}
	e.Note = "c2c: " + says + " neither write to other agents nor read what they write: " + cause.Error() + ". Tell your user."
	out, err := hooks.Render(e, nil, false)
	if err != nil {
		return err
	}
	a.stdout.Write(out.Output)
	return a.handOver()
}

// concerns says whether c2c has anything to do at an event.
func concerns(e hooks.Event) bool {
	return e.ShowsMail() || e.TellsLater() || e.Watches() || e.Changed() || e.Opened() || e.Prompted() || e.Works() || e.MayAnswer() ||
		e.Failure() != "" || e.Does() != ""
}

// record keeps what an event tells of its session: its work, its answers, its turn. ours is true when a plugin of ours in the
// client does the rest.
func (a *app) record(ctx context.Context, b *broker.Broker, s sessions.Session, e hooks.Event, config string, p client.Profile) (ours bool, err error) {
	if err := errors.Join(sawWork(b, s, e), a.sawAnswer(ctx, b, s, e, config, time.Now())); err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err) // it is no reason to keep its mail back
	}
	does := sessions.State(e.Does())
	if p.Plugin {
		ours, err = moves.LeftToPlugin(b.Registry, s)
		if err == nil && ours && does != "" {
			err = b.SetTurn(ctx, s, does, wake.ByPlugin) // it tells the rest
		}
		return ours, err
	}
	if does != "" {
		if err := b.SetTurn(ctx, s, does, sessions.ByHook); err != nil {
			fmt.Fprintf(a.stderr, "c2c: %v\n", err) // no reason to keep its mail back
		}
	}
	return false, nil
}

// repairs are the errors that stay until a person does something.
var repairs = []error{atomicfile.ErrNotOurs, atomicfile.ErrTooLarge, fs.ErrPermission, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS}

// sawWork records for the loop guard what an event tells of its session's work.
func sawWork(b *broker.Broker, s sessions.Session, e hooks.Event) error {
	switch {
	case e.Works():
		return turns.SawWork(b.Registry, s.ID, e.UsesTool())
	case e.UsesTool():
		return turns.SeesTools(b.Registry, s.ID)
	}
	return nil
}

// sawAnswer records what an event tells of the session's model, before mail is handed over with the event.
func (a *app) sawAnswer(ctx context.Context, b *broker.Broker, s sessions.Session, e hooks.Event, config string, now time.Time) error {
	if why := e.Failure(); why != "" {
		return turns.SawFailure(ctx, b.Registry, s.ID, why)
	}
	if e.Name == "SessionStart" {
		a.expectAnswers(b, s, e)
	}
	if e.MayAnswer() {
		if at := e.Answered(config, now); !at.IsZero() {
			return turns.SawAnswer(b.Registry, s.ID, at)
		}
	}
	return nil
}

// expectAnswers records that the mail which is handed over waits for an answer of the model. An older hook script of ours does
// not call c2c when the model answers, so for it nothing is recorded.
func (a *app) expectAnswers(b *broker.Broker, s sessions.Session, e hooks.Event) {
	if !e.TellsAnswers() || e.RunsScript() && a.getenv(hooks.ScriptEnv) == "" {
		return
	}
	if err := turns.ExpectAnswers(b.Registry, s.ID); err != nil {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err) // then it counts as read at once
	}
}

// clientProcess is the client's process that runs a hook, 0 when nothing tells.
func (a *app) clientProcess(p client.Profile, b *broker.Broker) int {
	switch {
	case p.DetachedHooks:
		return callers.Starter(b.Registry, a.tellsItsProcess(p))
	case p.ChildHooks:
		return os.Getppid()
	}
	pid, _ := strconv.Atoi(a.getenv(p.ProcessEnv))
	return pid
}

// tellsItsProcess knows the processes of a client that writes a file for each; nil for one that does not.
func (a *app) tellsItsProcess(p client.Profile) func(pid int) bool {
	if p.SessionFile == "" {
		return nil
	}
	return func(pid int) bool { return p.SessionOf(pid, a.getenv) != "" }
}

// place finds out in which agent an event has happened, which may take time: so not when there is nothing to show.
func place(b *broker.Broker, s sessions.Session, e *hooks.Event, config string, again bool) (shows bool, err error) {
	if !e.AgentUnknown() || !e.ShowsMail() {
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
	e.ResolveAgent(config)
	return true, nil
}

// ringByFile rings the session of a client whose file watcher has called, when nobody else rings it.
func (a *app) ringByFile(ctx context.Context, b *broker.Broker, s sessions.Session, e hooks.Event, config string, pid int) error {
	if client.OneShot(s.Client, pid) {
		return nil
	}
	rang, err := moves.RingOnce(ctx, b.Registry, s.ID, func(n wake.Notice) error {
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
func hookSession(ctx context.Context, b *broker.Broker, e *hooks.Event, c callers.Caller) (sessions.Session, error) {
	if !e.ByProcess() {
		return b.Attach(ctx, c)
	}
	s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Getenv: c.Getenv})
	if errors.Is(err, sessions.ErrNoSession) || err == nil && s.Client != c.Client {
		return sessions.Session{}, nil // its server has not been called yet, or it runs inside another client
	}
	if err == nil && e.Prompted() {
		return sessions.Session{}, b.Facts.SetConversation(ctx, s.ID, e.Conversation)
	}
	e.Within(s.Conversation())
	return s, err
}

// shower shows mail with the answer to an event.
type shower struct {
	a     *app
	b     *broker.Broker
	s     sessions.Session
	e     hooks.Event
	again []mail.Message // what the client has dropped, and gets once more

	out         hooks.Answer
	told        bool     // the client reads the answer from standard error
	shown       []string // the ids of all messages in it
	handedAgain []string // those of again
}

// answerHook shows mail, or asks the client to watch for it. again is mail that the client dropped, and gets once more.
func (a *app) answerHook(ctx context.Context, b *broker.Broker, s sessions.Session, e hooks.Event, again []mail.Message) error {
	e.Now = time.Now()
	if len(again) > 0 {
		e.Note = "" // which tells of that mail
	}
	if err := carried(ctx, b, s, &e); err != nil {
		return err
	}
	h := &shower{a: a, b: b, s: s, e: e, again: again}
	if e.OnError() {
		a.stdout.(*answer).to = a.stderr.(*mail.VisibleWriter).W
	}
	if e.Watches() {
		return h.watch()
	}
	return h.handOver(ctx)
}

// handOver shows what waits, and records what the client has got.
func (h *shower) handOver(ctx context.Context) error {
	err := moves.HandOver(ctx, h.b.Registry, h.s, moves.Reader{
		By: sessions.ByHook, Limit: int64(4 * h.e.Limit()), Often: h.e.Often(), Holds: h.e.Holds(), Render: h.render, Write: h.write,
	})
	if err == nil {
		err = turns.HandedAgain(ctx, h.b.Registry, h.s, h.handedAgain)
	}
	switch {
	case err != nil:
		return err
	case h.e.TellsLater():
		err = h.b.Facts.ChangeUnseen(ctx, h.s.ID, h.s.Unseen(), nil)
	case h.e.Untold():
		err = h.b.Facts.ChangeUnseen(ctx, h.s.ID, nil, h.shown)
	}
	if h.told {
		return errTold
	}
	return err
}

// watch asks the client to watch for mail: it would lie beside an empty prompt, and the session is rung for it.
func (h *shower) watch() error {
	box, err := h.b.Mailbox(h.s.ID)
	if err != nil {
		return err
	}
	if h.e.Watch, err = h.b.Locks.Watchable(box.LockName()); err != nil {
		return err
	}
	if _, _, err := h.render(nil, false); err != nil {
		return err
	}
	return h.write()
}

// render makes the answer of what comes again and of messages. shown and announced are places in the latter.
func (h *shower) render(msgs []mail.Message, more bool) (shown, announced []int, err error) {
	all := append(slices.Clip(h.again), msgs...)
	h.out, err = hooks.Render(h.e, all, more)
	for _, i := range h.out.Shown {
		h.shown = append(h.shown, all[i].ID)
		if i < len(h.again) {
			h.handedAgain = append(h.handedAgain, all[i].ID)
		} else {
			shown = append(shown, i-len(h.again))
		}
	}
	for _, i := range h.out.Announced {
		if i >= len(h.again) {
			announced = append(announced, i-len(h.again))
		}
	}
	return shown, announced, err
}

func (h *shower) write() error {
	if len(h.out.Shown) > 0 {
		h.a.expectAnswers(h.b, h.s, h.e)
	}
	h.told = h.e.OnError() && h.out.Output != nil
	h.a.stdout.Write(h.out.Output)
	return h.a.handOver()
}

// carried finds the mail that the model has, and the client's person was not told of.
func carried(ctx context.Context, b *broker.Broker, s sessions.Session, e *hooks.Event) error {
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
