// This part answers one event of a client's hooks: it records what the event says about the
// session, and shows waiting mail.
//
// Clients run c2c hook at every tool call, so this package and its imports must start fast.

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
	"sync"
	"syscall"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/hooks"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// hookTime bounds the time of a hook, so that no tool call hangs because of c2c. After 5 s, the
// hook script would kill c2c.
const hookTime = 4 * time.Second

// errOnStderr means that the answer is on standard error, and the exit status must make the client
// read it there.
var errOnStderr = errors.New("the client reads the answer from standard error")

// hook answers an event of a client. If it returns another error than errOnStderr, main prints the
// error, but exits with 0: to a client, another status may mean that the tool call is refused.
func hook(c *call, f *cli.Flags) action {
	name, edit := f.Text("client"), f.Bool("edit")
	return func(ctx context.Context) error {
		limit, end := within(ctx, hookTime)
		defer end()
		if *edit {
			return c.warnOfClaims(limit, *name)
		}
		return c.answerHook(limit, cmp.Or(*name, client.All()[0].Name))
	}
}

// showHook writes the answer of a hook to the stream that the client reads. It returns when the
// client has the answer.
func (c *call) showHook(text []byte, onStderr bool) error {
	out := c.stdout.(*answer)
	if onStderr {
		out.to = c.stderr.(*mail.VisibleWriter).W
	}
	out.Write(text)
	return c.flushDurably()
}

// event is the event that a hook answers, with its session.
type event struct {
	*call
	hooks.Event
	profile client.Profile
	config  string // the directory of the client's configuration
	pid     int    // the client's process; 0: unknown
	s       sessions.Session
}

// answerHook reads an event from standard input, and answers it. name is the name of the client
// that has sent the event.
func (c *call) answerHook(ctx context.Context, name string) (err error) {
	e := event{call: c}
	e.profile, _ = client.Find(name)
	e.config, _ = e.profile.Config(e.getenv)
	e.Event, err = hooks.Parse(name, e.stdin)
	if allows := e.Allows(e.getenv); err == nil && allows != nil {
		return e.showHook(allows, false)
	}
	if err != nil || !e.concernsUs() {
		return err
	}
	if dir := e.getenv(e.profile.ProjectEnv); filepath.IsAbs(dir) {
		e.cwd = dir
	}
	table := new(sessions.SystemProcesses)
	e.pid = e.clientProcess(table)
	who := callers.Caller{Getenv: e.getenv}
	if !e.ByProcess() {
		who = callers.Caller{Client: e.profile.Name, ClientID: e.SessionID, PID: e.pid, ByHook: true, Follows: !e.Begins(), Getenv: e.getenv}
	}
	if e.b, err = broker.OpenFor(who, e.cwd, broker.Config{Log: e.log(), Processes: table}); err != nil {
		return e.showTrouble(err)
	}
	defer e.b.Close()
	if e.getenv(hooks.PluginEnv) == "" && sessions.Uninstalled(e.getenv, name, e.pid) {
		return nil // the client loaded c2c's hooks before the uninstall, and still runs them
	}
	if err := e.findSession(ctx, who); err != nil || e.s.ID == "" {
		return e.showTrouble(err)
	}
	if who.Follows && e.s.Facts.HasLeft(e.SessionID) {
		return nil // nobody would read the answer
	}
	return e.answer(ctx)
}

// answer answers the event, after findSession has found the session.
func (e *event) answer(ctx context.Context) error {
	byPlugin, err := e.record(ctx)
	if err != nil {
		return err
	}
	if refused, err := e.sawEdit(ctx); err != nil || refused {
		return err
	}
	if byPlugin {
		// If the plugin has begun the turn with mail, it has put the new posts there, too.
		if e.TellsTrouble() && !strings.Contains(string(e.Prompt), "<c2c ") {
			e.addNews(ctx)
		}
		return e.showNote()
	}
	if e.LeavesMail() {
		if left, err := e.b.LeftToRinger(ctx, e.s); err != nil || left {
			return err
		}
	}
	e.warn(e.writePointer()) // without the pointer, the hook script starts c2c at each event
	if e.Changed() {
		return e.ringByFile(ctx)
	}
	if e.MayTellDropped() {
		e.takeBack(ctx)
	}
	if shows, err := e.findAgent(); err != nil || !shows {
		return err
	}
	if e.ShowsMail() || e.Watches() || e.tellsUnseen() {
		return e.showMail(ctx)
	}
	return nil
}

// takeBack makes mail wait again that a hook brought and the client has dropped since, and puts
// dropped posts into this answer.
func (e *event) takeBack(ctx context.Context) {
	dropped := sync.OnceValue(func() hooks.Dropped {
		last, _ := sessions.LastAnswer(e.b.Registry, e.s.ID)
		return e.Dropped(last)
	})
	byHook := func(r inbox.ArchiveRecord) bool {
		if r.ShownAt != 0 && e.MayHavePassed() {
			return false // an event of this turn may have just brought it again, and the record does not have that yet
		}
		return r.DrainedBy == inbox.ByHook && dropped().Has(r.Message)
	}
	n, err := sessions.PutBack(ctx, e.b.Registry, e.s.ID, byHook)
	if e.warn(err); n > 0 {
		e.DropOwnNote() // it would say that mail was dropped, but this answer shows the mail again
	}
	if e.mayHaveNews() && e.ShowsWords() {
		e.Note = strings.Trim(dropped().Digests()+"\n"+e.Note, "\n")
	}
}

// warn prints an error that must not keep mail back.
func (e *event) warn(err error) {
	if err != nil {
		fmt.Fprintf(e.stderr, "c2c: %v\n", err)
	}
}

// concernsUs reports whether c2c has something to do at this event.
func (e *event) concernsUs() bool {
	edits, _ := e.Edits()
	return edits != "" || e.ShowsMail() || e.TellsLater() || e.Watches() || e.Changed() || e.Opened() || e.Prompted() || e.Works() || e.MayAnswer() ||
		e.Failure() != "" || e.Does() != ""
}

// lasting has the errors that come again until a person removes their cause.
var lasting = []error{atomicfile.ErrNotOurs, atomicfile.ErrTooLarge, fs.ErrPermission, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS}

// showTrouble is for an error after which a person must repair something. Nobody sees a hook's
// standard error, so showTrouble shows the error in the hook's answer. It returns the cause if a
// person need not repair anything, or if the answer may not have such a text.
func (e *event) showTrouble(cause error) error {
	if !e.TellsTrouble() || !slices.ContainsFunc(lasting, func(one error) bool { return errors.Is(cause, one) }) {
		return cause
	}
	e.Note = "c2c: something must be repaired, and until then this session can neither write to other agents nor read what they write: " + cause.Error() + ". Tell your user."
	return e.showNote()
}

// clientProcess returns the process of the client that runs the hook; 0 if c2c cannot find this
// process.
func (e *event) clientProcess(table sessions.ProcessTable) int {
	p := e.profile
	switch {
	case p.DetachedHooks && p.SessionFile == "":
		return callers.Starter(table, nil)
	case p.DetachedHooks: // the client writes a file for each of its processes
		return callers.Starter(table, func(pid int) bool { return p.SessionOf(pid, e.getenv) != "" })
	case p.ChildHooks:
		return os.Getppid()
	}
	pid, _ := strconv.Atoi(e.getenv(p.ProcessEnv))
	return pid
}

// findSession finds the session of the event. Afterwards e.s.ID is empty if the event belongs to no
// session, or needs no more work.
func (e *event) findSession(ctx context.Context, c callers.Caller) (err error) {
	if !e.ByProcess() {
		e.s, err = e.b.Attach(ctx, c)
		return err
	}
	s, err := callers.Resolve(ctx, e.b.Registry, c)
	switch {
	case errors.Is(err, sessions.ErrNoSession) || err == nil && s.Client != e.profile.Name:
		return nil // the session has not called its server yet, or runs inside another client
	case err == nil && e.Prompted():
		return e.b.Facts.SetConversation(ctx, s.ID, e.Conversation)
	}
	e.Within(s.Conversation)
	e.s = s
	return err
}

// findAgent finds out in which agent of the session the event happened: in the session's own agent,
// or in a subagent. This may take time, so findAgent first checks whether there is something to
// show. If not, shows is false, and the agent stays unknown.
func (e *event) findAgent() (shows bool, err error) {
	if !e.AgentUnknown() || !e.ShowsMail() {
		return true, nil
	}
	box, err := e.b.Mailbox(e.s.ID)
	if err != nil {
		return false, err
	}
	if some, err := box.Waiting(); err != nil || !some && e.Note == "" && !e.tellsUnseen() && !e.mayHaveNews() {
		return false, err
	}
	e.ResolveAgent(e.config)
	return true, nil
}

// tellsUnseen reports whether there is mail that only the model has seen so far, and that this
// answer can show to the person.
func (e *event) tellsUnseen() bool { return e.TellsLater() && len(e.s.Unseen) > 0 }

// ringByFile answers an event of the client's file watcher: it rings the session, unless another
// process rings the session.
func (e *event) ringByFile(ctx context.Context) error {
	if client.OneShot(e.s.Client, e.pid) {
		return nil
	}
	rang, err := e.b.RingOnce(ctx, e.s.ID, func(n wake.Notice) error {
		if said := e.Inbound(e.config, e.getenv); said != "" {
			return fmt.Errorf("%w: %s", wake.ErrRefused, said)
		}
		_, err := fmt.Fprintln(e.stderr, n.Text("the mail is shown beside this; if not, run: c2c poll-inbox"))
		return err
	})
	if !rang {
		return err
	}
	e.warn(err)
	return errOnStderr
}

// writePointer writes the pointer of the session's id, a file that the hook script reads. With the
// pointer, the script does not start c2c while the mailbox is empty. For clients that run no
// script, writePointer does nothing.
func (e *event) writePointer() error {
	if !e.RunsScript() {
		return nil
	}
	state, _ := project.StateDir(e.getenv)
	return callers.Point(callers.PointerPath(state, e.SessionID), e.b.Root(), e.s)
}
