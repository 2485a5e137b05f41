package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// fed is our end of a plugin, with the test as the plugin.
type fed struct {
	t     *testing.T
	b     *broker.Broker
	root  string
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan int
}

type fedLine struct {
	Session, SID string
	Mail         []struct{ Key, Text string }
	Begin        bool
	News         struct{ Key, Text string }
}

func newFed(t *testing.T) *fed {
	f := &fed{t: t, root: t.TempDir() + "/root"}
	var err error
	if f.b, err = broker.Open(broker.Config{Root: f.root}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.b.Close() })
	return f
}

// start starts our end; started is the mailbox that c2c start gave to the client, or empty.
func (f *fed) start(started string) {
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	f.in, f.lines, f.ended = in, bufio.NewScanner(out), make(chan int, 1)
	env := map[string]string{"C2C_MCP_BROKER_ROOT": f.root, client.StartEnv: started}
	a := &app{stdin: stdin, stdout: stdout, stderr: io.Discard, log: slog.New(slog.DiscardHandler), getenv: func(name string) string { return env[name] }}
	ended := f.ended
	go func() {
		defer close(ended)
		ended <- a.main(f.t.Context(), []string{"plugin", "opencode"})
	}()
	f.t.Cleanup(func() {
		in.Close()
		out.Close()
		for range ended {
		}
	})
}

func (f *fed) say(line string) (told fedLine) {
	f.t.Helper()
	if _, err := io.WriteString(f.in, line+"\n"); err != nil {
		f.t.Fatal(err)
	}
	return f.told()
}

func (f *fed) told() (told fedLine) {
	f.t.Helper()
	if !f.lines.Scan() || json.Unmarshal(f.lines.Bytes(), &told) != nil {
		f.t.Fatalf("told %q, %v", f.lines.Text(), f.lines.Err())
	}
	return told
}

// send sends a message with this id to a mailbox.
func (f *fed) send(sid, id string) {
	f.t.Helper()
	birch, err := f.b.Register(f.t.Context(), callers.Caller{Explicit: "birch"}, "birch")
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := callers.Resolve(f.t.Context(), f.b.Registry, callers.Caller{Explicit: sid})
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.b.Send(f.t.Context(), birch, mail.Message{To: s.Alias, Content: "word-" + id, ID: id}); err != nil {
		f.t.Fatal(err)
	}
}

// wantRead waits until a message is read.
func (f *fed) wantRead(id string) {
	f.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); ; <-tick.C {
		st, err := f.b.Status(f.t.Context(), id)
		if err == nil && st.State == sessions.Read {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("%s is %s, %v", id, st.State, err)
		}
	}
}

func TestStartGivesAPluginTheSameMailboxEachTime(t *testing.T) {
	f := newFed(t)
	for _, session := range []string{"ses-1", "ses-2"} {
		s, err := f.b.Register(t.Context(), callers.Caller{Start: "amber", Client: "opencode", PID: os.Getppid()}, "amber")
		if err != nil {
			t.Fatal(err)
		}
		f.start(s.ID)
		if got := f.say(`{"session":"` + session + `","shown":true}`); got.SID != s.ID {
			t.Errorf("%s has the mailbox %q, and amber is %q", session, got.SID, s.ID)
		}
		if got := f.say(`{"session":"` + session + `-new","shown":true}`); got.SID == s.ID {
			t.Error("two sessions have one mailbox")
		}
		f.in.Close()
		<-f.ended
	}
}

// On its home screen a client has no session. The first one has the mail at once, also when it is
// an older one.
func TestMailBeforeTheFirstSessionAsksForOne(t *testing.T) {
	f := newFed(t)
	for i, session := range []string{"ses-1", "ses-2", "ses-2"} {
		s, err := f.b.Register(t.Context(), callers.Caller{Start: "amber", Client: "opencode", PID: os.Getppid()}, "amber")
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("m-", i)
		f.send(s.ID, id)
		f.start(s.ID)
		if got := f.told(); !got.Begin {
			t.Errorf("told %+v", got)
		}
		if st, err := f.b.Status(t.Context(), id); err != nil || st.State != sessions.Queued {
			t.Errorf("%s is %s, %v", id, st.State, err)
		}
		// The answer and the mail come in any order.
		mail := append(f.say(`{"session":"`+session+`","shown":true}`).Mail, f.told().Mail...)
		if len(mail) != 1 || !strings.Contains(mail[0].Text, "word-"+id) {
			t.Fatalf("%s is given %+v", session, mail)
		}
		if _, err := io.WriteString(f.in, `{"session":"`+session+`","has":["`+mail[0].Key+`"]}`+"\n"); err != nil {
			t.Fatal(err)
		}
		f.wantRead(id)
		f.in.Close()
		<-f.ended
	}
}

// A turn goes on while its person works in another session, and its model has the mail.
func TestWhatTheModelHasIsReadThoughItsPersonIsElsewhere(t *testing.T) {
	f := newFed(t)
	f.start("")
	sid := f.say(`{"session":"ses-1","shown":true}`).SID
	f.send(sid, "m-1")
	mail := f.told().Mail
	f.say(`{"session":"ses-2","shown":true}`)
	if _, err := io.WriteString(f.in, `{"session":"ses-1","has":["`+mail[0].Key+`"]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	f.wantRead("m-1")
}

// A session of another client has the same id.
func TestAPluginIsGivenTheMailOfItsClientAlone(t *testing.T) {
	f := newFed(t)
	thread, err := f.b.Attach(t.Context(), callers.Caller{Client: "codex", ClientID: "ses-1"})
	if err != nil {
		t.Fatal(err)
	}
	f.send(thread.ID, "m-1")
	f.start("")
	f.send(f.say(`{"session":"ses-1","shown":true}`).SID, "m-2")
	if got := f.told(); len(got.Mail) != 1 || !strings.Contains(got.Mail[0].Text, "word-m-2") {
		t.Errorf("given %+v", got)
	}
}

func TestASessionThatCannotBeMetCostsNoOther(t *testing.T) {
	f := newFed(t)
	f.start("")
	sid := f.say(`{"session":"ses-1","shown":true}`).SID
	if err := os.Mkdir(f.root+"/sessions/ids/opencode.ses-2", 0o700); err != nil {
		t.Fatal(err)
	}
	if got := f.say(`{"session":"ses-2"}`); got.SID != "" {
		t.Errorf("its mailbox is %q", got.SID)
	}
	f.send(sid, "m-1")
	if got := f.told(); len(got.Mail) != 1 {
		t.Errorf("given %+v", got)
	}
}

// The file comes with the project, and a client may be made to say anything.
func TestAProjectsFileAndAPluginTakeNobodysName(t *testing.T) {
	for file, lines := range map[string]string{
		`{"alias":"amber"}`:                        `{"session":"ses-1","has":["k"]}` + "\n" + `{"session":"ses-1","shown":true}` + "\n{",
		`{"alias":"birch","session_id":"birch"}`:   `{"session":"birch"}` + "\n" + `{"session":"../birch"}` + "\n" + `{"session":"birch","refused":"x"}`,
		`{"alias":"a\u001b[2J"}`:                   `{"session":"` + strings.Repeat("s", 1<<16) + `"}` + "\n" + `{"session":"\u001b"}` + "\n" + `{"session":"ses-1"}`,
		strings.Repeat(`{"alias":["birch"]}`, 1e4): strings.Repeat(`{"session":"ses-1"}`+"\n", 5),
	} {
		f := newFed(t)
		birch, err := f.b.Register(t.Context(), callers.Caller{Explicit: "birch", PID: os.Getpid()}, "birch")
		if err != nil {
			t.Fatal(err)
		}
		cwd := t.TempDir()
		if err := errors.Join(os.Mkdir(cwd+"/.opencode", 0o700), os.WriteFile(cwd+"/.opencode/c2c-plugin.json", []byte(file), 0o600)); err != nil {
			t.Fatal(err)
		}
		a := &app{stdin: strings.NewReader(lines), stdout: io.Discard, stderr: io.Discard, log: slog.New(slog.DiscardHandler), cwd: cwd,
			getenv: func(name string) string { return map[string]string{"C2C_MCP_BROKER_ROOT": f.root}[name] }}
		a.main(t.Context(), []string{"plugin", "opencode"})
		all, err := f.b.Sessions(t.Context())
		if err != nil || len(all) < 2 {
			t.Errorf("%.40s: %d sessions, %v", file, len(all), err)
		}
		for _, s := range all {
			if mail.CheckAlias(s.Alias) != nil || (s.ID == birch.ID) != (s.Alias == "birch") || s.ID == birch.ID && len(s.ClientIDs) > 0 {
				t.Errorf("%.40s: there is %+v", file, s)
			}
		}
	}
}

// fedInRooms starts the plugin's c2c for the session amber. The session birch has no client.
func fedInRooms(t *testing.T) (f *fed, amber, birch sessions.Session) {
	t.Helper()
	f = newFed(t)
	f.start("")
	sid := f.say(`{"session":"ses-1","shown":true}`).SID
	amber, err := callers.Resolve(t.Context(), f.b.Registry, callers.Caller{Explicit: sid})
	if err != nil {
		t.Fatal(err)
	}
	birch, err = f.b.Register(t.Context(), callers.Caller{Explicit: "birch"}, "birch")
	if err != nil {
		t.Fatal(err)
	}
	return f, amber, birch
}

// New posts of rooms are given to a turn that begins, until the plugin says that the model has
// them. A c2c that is killed before that gives them again.
func TestAPluginGetsNewPostsUntilTheModelHasThem(t *testing.T) {
	f, amber, birch := fedInRooms(t)
	const asks = `{"session":"ses-1","call":"q","news":true}`
	wants := func(word string) string {
		t.Helper()
		got := f.say(asks).News
		if word == "" && got.Key != "" || !strings.Contains(got.Text, word) {
			t.Errorf("it gets %+v, want %q", got, word)
		}
		return got.Key
	}
	wants("") // it is in no room
	for _, s := range []sessions.Session{birch, amber} {
		if _, err := rooms.Join(t.Context(), f.b, s, "review", true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rooms.Publish(t.Context(), f.b, birch, rooms.Draft{Room: "review", Message: mail.Message{Content: "ambient-one"}}); err != nil {
		t.Fatal(err)
	}
	key := wants("ambient-one")
	f.in.Close()
	<-f.ended
	f.start("")
	f.say(`{"session":"ses-1","shown":true}`)
	if again := wants("ambient-one"); again != key {
		t.Errorf("the same posts have the keys %s and %s", key, again)
	}
	if _, err := io.WriteString(f.in, `{"session":"ses-1","has":["`+key+`"]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	wants("")
}

// If there are posts of more rooms than one text has space for, the other rooms come with the next
// turns.
func TestAPluginGetsThePostsOfManyRoomsBitByBit(t *testing.T) {
	f, amber, birch := fedInRooms(t)
	const count = 12
	for i := range count {
		room := fmt.Sprint("room-", i)
		for _, s := range []sessions.Session{birch, amber} {
			if _, err := rooms.Join(t.Context(), f.b, s, room, true); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := rooms.Publish(t.Context(), f.b, birch, rooms.Draft{Room: room, Message: mail.Message{Content: "ambient"}}); err != nil {
			t.Fatal(err)
		}
	}
	got := ""
	for range count {
		news := f.say(`{"session":"ses-1","call":"q","news":true}`).News
		if news.Key == "" {
			break
		}
		got += news.Text
		if _, err := io.WriteString(f.in, `{"session":"ses-1","has":["`+news.Key+`"]}`+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		if n := strings.Count(got, fmt.Sprintf("#room-%d ", i)); n != 1 {
			t.Errorf("the posts of room-%d come %d times", i, n)
		}
	}
}
