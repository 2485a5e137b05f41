package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/watch"
)

// world is a root with somebody who watches it.
type world struct {
	t       *testing.T
	b       *broker.Broker
	updates chan Update
	queue   []Event
	rows    []Session
}

func newWorld(t *testing.T) *world {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return &world{t: t, b: b}
}

func (w *world) session(alias string) sessions.Session {
	w.t.Helper()
	s, err := w.b.Register(w.t.Context(), callers.Caller{Explicit: alias, Client: "some-client", PID: os.Getpid()}, alias)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// watch begins, and returns when the first look is over.
func (w *world) watch(backlog int) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.updates = make(chan Update)
	done := make(chan error, 1)
	go func() {
		done <- New(w.b, backlog).Run(ctx, func(u Update) error {
			select {
			case w.updates <- u:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	w.next()
}

func (w *world) next() {
	u := <-w.updates
	w.queue = append(w.queue, u.Events...)
	if u.Sessions != nil {
		w.rows = u.Sessions
	}
}

// want waits for the next event that is one of the kinds that the wanted ones are of.
func (w *world) want(want ...string) {
	w.t.Helper()
	for len(want) > 0 {
		for len(w.queue) == 0 {
			w.next()
		}
		e := w.queue[0]
		w.queue = w.queue[1:]
		kind := func(s string) bool { return strings.HasPrefix(s, e.What+" ") }
		if !slices.ContainsFunc(want, kind) {
			continue
		}
		got := strings.TrimSpace(fmt.Sprint(e.What, " ", e.Alias, " ", e.Message.ID))
		if got != want[0] {
			w.t.Fatalf("event %q, want %q", got, want[0])
		}
		want = want[1:]
	}
}

func (w *world) send(from sessions.Session, to, id string) {
	w.t.Helper()
	if _, err := w.b.Send(w.t.Context(), from, mail.Message{To: to, ID: id, Content: "body of " + id}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) drain(s sessions.Session) {
	w.t.Helper()
	box, err := w.b.Mailbox(s.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := box.Lease(w.t.Context(), "test", 1<<30)
	if err == nil {
		err = l.Ack(w.t.Context(), inbox.Handles(l.Messages)...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestTheWayOfAMessageIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.watch(0)
	w.send(amber, "birch", "m-1")
	w.want("stored birch m-1")
	ring := wake.Ring{At: time.Now(), Method: "test", Outcome: wake.Rang}
	if err := w.b.Rang(t.Context(), birch.ID, ring); err != nil {
		t.Fatal(err)
	}
	w.want("rung birch")
	box, err := w.b.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	l, err := box.Lease(t.Context(), "test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	w.want("handed birch m-1")
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	w.want("back birch m-1")
	w.drain(birch)
	w.want("read birch m-1")
}

// That the relay takes a message, and that the other machine has stored it, is not that anybody has
// read it.
func TestMailForAnotherMachineIsNotToldAsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.watch(0)
	outbox := sessions.Session{ID: "host-devbox"}
	box, err := w.b.Mailbox(outbox.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Deliver(t.Context(), mail.Message{From: "birch", FromSession: birch.ID, To: "amber@devbox", ID: "m-1", Content: "hi"}); err != nil {
		t.Fatal(err)
	}
	w.want("stored  m-1")
	w.drain(outbox)
	w.send(amber, "birch", "m-2")
	w.drain(birch)
	for {
		for len(w.queue) == 0 {
			w.next()
		}
		e := w.queue[0]
		w.queue = w.queue[1:]
		if e.SessionID == outbox.ID {
			t.Errorf("%s of %s", e.What, e.Message.ID)
		}
		if e.What == Archived && e.Message.ID == "m-2" {
			return
		}
	}
}

// Messages that nobody could see in time are told from the archive, in the order of each sender.
func TestEachMessageIsToldOnceInTheOrderOfItsSender(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const each = 60
	names := []string{"amber", "birch", "cedar"}
	all := map[string]sessions.Session{}
	for _, name := range names {
		all[name] = w.session(name)
	}
	w.watch(0)
	var sending, draining sync.WaitGroup
	for _, from := range names {
		sending.Go(func() {
			for i := range each { // to the two others in turn
				to := names[(slices.Index(names, from)+1+i%2)%3]
				if _, err := w.b.Send(t.Context(), all[from], mail.Message{To: to, ID: fmt.Sprint(from, "-", i), Content: "x"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sent := make(chan bool)
	draining.Go(func() {
		for ended := false; !ended; {
			select {
			case <-sent:
				ended = true // and look once more
			default:
			}
			for _, s := range all {
				w.drain(s)
			}
		}
	})
	go func() {
		sending.Wait()
		close(sent)
	}()
	told, read := map[string]int{}, map[string]bool{}
	for len(read) < each*len(names) {
		for _, e := range (<-w.updates).Events {
			switch e.What {
			case Stored:
				if want := fmt.Sprint(e.Message.From, "-", told[e.Message.From]); e.Message.ID != want {
					t.Errorf("told of %s, want %s", e.Message.ID, want)
				}
				told[e.Message.From]++
			case Archived:
				if read[e.Message.ID] {
					t.Errorf("%s is read twice", e.Message.ID)
				}
				read[e.Message.ID] = true
			}
		}
	}
	draining.Wait()
}

// Without events, as with late ones, only the files tell the order.
func TestTheOrderOfASenderNeedsNoEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := New(w.b, 0)
	v.files = watch.NewFiles()
	defer v.files.Close()
	v.files.Poll()
	if _, err := v.look(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	deliver := func(id, to string, at time.Time) {
		t.Helper()
		box, err := w.b.Mailbox(to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := box.Deliver(t.Context(), mail.Message{From: "amber", To: to, ID: id, Content: "hi", TS: mail.Seconds(at)}); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	look := func(all bool) {
		t.Helper()
		u, err := v.look(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range u.Events {
			told = append(told, e.What+" "+e.Message.ID)
		}
	}
	now := time.Now()
	deliver("m-2", "cedar", now.Add(time.Hour)) // sent after the look has begun
	look(true)
	deliver("m-1", "birch", now) // the look was in this mailbox before
	look(false)
	if want := []string{"stored m-1", "stored m-2"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestMailThatIsMovedIsNotToldAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.watch(0)
	w.send(amber, "birch", "m-1")
	w.want("stored birch m-1")
	from, err := w.b.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	to, err := w.b.Mailbox("cedar")
	if err != nil {
		t.Fatal(err)
	}
	l, err := from.Lease(t.Context(), "test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Move(t.Context(), l.Messages...); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(t.Context(), "m-1"); err != nil {
		t.Fatal(err)
	}
	w.send(amber, "birch", "m-2")
	w.want("stored birch m-2")
}

func TestWhatWasThereIsToldFirstUpToTheBacklog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	for i := range 10 {
		w.send(amber, "birch", fmt.Sprint("m-", i))
		if i == 6 {
			w.drain(birch)
		}
	}
	w.watch(5)
	var got []string
	for _, e := range w.queue {
		if got = append(got, e.What+" "+e.Message.ID); !e.Before || e.What == Stored && e.Message.Content != "body of "+e.Message.ID {
			t.Errorf("%+v", e)
		}
	}
	want := []string{"stored m-5", "stored m-6", "stored m-7", "stored m-8", "stored m-9", "read m-5", "read m-6"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if i := slices.IndexFunc(w.rows, func(s Session) bool { return s.Alias == "birch" }); i < 0 || w.rows[i].Count != 3 {
		t.Errorf("sessions %+v", w.rows)
	}
}

func TestSessionsComeChangeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.session("amber")
	w.watch(0)
	birch := w.session("birch")
	w.want("came birch")
	if err := w.b.Describe(t.Context(), birch.ID, "reviews"); err != nil {
		t.Fatal(err)
	}
	w.want("changed birch")
	if _, err := w.b.Register(t.Context(), callers.Caller{Explicit: birch.ID}, "cedar"); err != nil {
		t.Fatal(err)
	}
	w.want("changed cedar")
}

// What a client's own file says is told when that file is written, though nothing in the root has
// changed.
func TestAClientsOwnRecordIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	client := exec.Command("sleep", "1000")
	client.Env = []string{"CLAUDE_CONFIG_DIR=" + dir}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Process.Kill()
		client.Wait()
	})
	says := func(status string) {
		t.Helper()
		record := fmt.Sprintf(`{"pid":%d,"status":%q,"statusUpdatedAt":%d}`, client.Process.Pid, status, time.Now().UnixMilli())
		temp := filepath.Join(dir, "sessions", "temp")
		if err := os.WriteFile(temp, []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(temp, filepath.Join(dir, "sessions", fmt.Sprint(client.Process.Pid, ".json"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	says("idle")
	if _, err := w.b.Register(t.Context(), callers.Caller{Explicit: "amber", Client: "claude", PID: client.Process.Pid}, "amber"); err != nil {
		t.Fatal(err)
	}
	w.watch(0)
	says("waiting")
	w.want("changed amber")
	if got := w.rows[0].Now.Does; got != sessions.Waiting {
		t.Errorf("it is %s", got)
	}
}

func TestADeadLetterIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber := w.session("amber")
	if _, err := w.b.Register(t.Context(), callers.Caller{Explicit: "birch"}, "birch"); err != nil {
		t.Fatal(err)
	}
	w.send(amber, "birch", "m-1")
	w.watch(0)
	later, err := broker.Open(broker.Config{Root: w.b.Root(), Now: func() time.Time { return time.Now().Add(1000 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if _, err := moves.Sweep(t.Context(), later.Registry, time.Hour); err != nil {
		t.Fatal(err)
	}
	w.want("dead birch m-1")
}

func TestADamagedMailboxIsToldAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.session("cedar")
	w.send(amber, "birch", "m-1")
	w.watch(0)
	path := filepath.Join(w.b.Root(), birch.ID+".inbox.json")
	if err := os.WriteFile(path, []byte(`[{"from_alias":"x",`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.want("damaged birch")
	w.send(amber, "cedar", "m-2")
	w.want("stored cedar m-2")
}

func TestARootThatIsMadeAnewIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.session("amber")
	v, began := New(w.b, 0), make(chan bool, 1)
	go func() {
		<-began
		os.RemoveAll(w.b.Root())
	}()
	if err := v.Run(t.Context(), func(Update) error {
		select {
		case began <- true:
		default:
		}
		return nil
	}); err != ErrReplaced {
		t.Errorf("error %v", err)
	}
}

// The view's own looks must not wake it.
func TestNothingIsDoneWhileNothingHappens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber := w.session("amber")
	w.session("birch")
	w.send(amber, "birch", "m-1")
	v := New(w.b, 10)
	ctx, cancel := context.WithCancel(t.Context())
	if err := v.Run(ctx, func(Update) error { cancel(); return nil }); err != nil {
		t.Fatal(err)
	}
	v = New(w.b, 10)
	err := v.Run(t.Context(), func(Update) error {
		for range 3 {
			if _, err := v.look(t.Context(), true); err != nil {
				return err
			}
		}
		if changed, all := v.files.Take(); len(changed) > 0 || all {
			return fmt.Errorf("its own look closed %v", changed)
		}
		return context.Canceled
	})
	if err != context.Canceled {
		t.Error(err)
	}
}
