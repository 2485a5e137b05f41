package codex

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"

	"c2c/client"
)

// A follower hears what the thread does when it comes, of each change, and from the next
// app-server, too. What it cannot know it does not go on saying.
func TestWhatAThreadDoesIsToldWheneverItChanges(t *testing.T) {
	more := []string{
		`{"method":"thread/status/changed","params":{"threadId":"another","status":{"type":"idle"}}}`,
		`{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"thread-1"}}`,
		`{"method":"thread/status/changed","params":{"threadId":"thread-1","status":{"type":"active","activeFlags":["waitingOnApproval"]}}}`,
		`{"method":"thread/status/changed","params":{"threadId":"thread-1","status":{"type":"somethingNew"}}}`,
		`{"method":"thread/status/changed","params":{"threadId":"thread-1","status":{"type":"idle"}}}`,
	}
	home := listen(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow() // and the follower comes again
		write := func(text string) { ws.Write(r.Context(), websocket.MessageText, []byte(text)) }
		for {
			_, data, err := ws.Read(r.Context())
			var req struct {
				ID     json.RawMessage
				Method string
			}
			if err != nil || json.Unmarshal(data, &req) != nil {
				return
			}
			switch req.Method {
			case "initialize":
				write(`{"id":` + string(req.ID) + `,"result":{}}`)
			case "thread/read":
				write(`{"id":` + string(req.ID) + `,"result":{"thread":{"status":{"type":"active","activeFlags":[]}}}}`)
				for _, text := range more {
					write(text)
				}
				return
			}
		}
	})})
	ctx, stop := context.WithCancel(t.Context())
	var told []string
	(&Server{Home: home, Thread: "thread-1"}).Follow(ctx, func(does string) {
		if told = append(told, does); len(told) == 9 {
			stop()
		}
	})
	want := []string{client.Busy, client.Waiting, "", client.Idle, "", client.Busy, client.Waiting, "", client.Idle}
	if !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}

// followed is a thread that c2c follows, of an app-server and terminals that the test plays.
type followed struct {
	t     *testing.T
	say   chan string    // the app-server tells a new state
	begun chan bool      // a look at the terminals begins
	looks chan []process // the terminals that this look finds
	ended chan bool      // a terminal ends
	told  chan string
}

// follow follows an idle thread, which the app-server refuses to read for the first few times.
func follow(t *testing.T, refuses int) *followed {
	f := &followed{t: t, say: make(chan string), begun: make(chan bool), looks: make(chan []process), ended: make(chan bool), told: make(chan string)}
	home := listen(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		write := func(text string) { ws.Write(r.Context(), websocket.MessageText, []byte(text)) }
		for {
			_, data, err := ws.Read(r.Context())
			var req struct {
				ID     json.RawMessage
				Method string
			}
			if err != nil || json.Unmarshal(data, &req) != nil {
				return
			}
			switch {
			case req.Method == "initialize":
				write(`{"id":` + string(req.ID) + `,"result":{}}`)
			case req.Method == "thread/read" && refuses > 0:
				refuses--
				write(`{"id":` + string(req.ID) + `,"error":{"code":-32603,"message":"failed to read session metadata"}}`)
			case req.Method == "thread/read":
				write(`{"id":` + string(req.ID) + `,"result":{"thread":{"status":{"type":"idle"}}}}`)
				for state := range f.say {
					write(`{"method":"thread/status/changed","params":{"threadId":"thread-1","status":{"type":"` + state + `"}}}`)
				}
			}
		}
	})})
	daemon := process{pid: 1, client: true, threads: since(time.Hour, "thread-1")}
	ctx, stop := context.WithCancel(t.Context())
	s := &Server{Home: home, Thread: "thread-1",
		processes: func(string) []process {
			select {
			case <-f.begun:
			case <-ctx.Done():
			}
			select {
			case terminals := <-f.looks:
				return append(terminals, daemon)
			case <-ctx.Done():
				return nil
			}
		},
		ended: func(ctx context.Context, pids []int) {
			select {
			case <-f.ended:
			case <-ctx.Done():
			}
		}}
	done := make(chan bool)
	go func() {
		defer close(done)
		s.Follow(ctx, func(does string) {
			select {
			case f.told <- does:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		stop()
		close(f.say)
		<-done
	})
	return f
}

func (f *followed) want(step, word string) {
	f.t.Helper()
	if got := <-f.told; got != word {
		f.t.Fatalf("%s: told %q, want %q", step, got, word)
	}
}

// terminals lets one look at the terminals begin and end.
func (f *followed) terminals(pids ...int) {
	f.begun <- true
	f.finds(pids...)
}

// finds ends a look that has begun.
func (f *followed) finds(pids ...int) {
	var all []process
	for _, pid := range pids {
		all = append(all, process{pid: pid, client: true, terminal: true})
	}
	f.looks <- all
}

// The app-server keeps an idle thread whose terminal has gone, and tells nobody.
func TestAThreadIsAwayWhenItsTerminalHasEnded(t *testing.T) {
	f := follow(t, 0)
	f.terminals() // it was begun for a terminal that comes
	f.want("begun", client.Idle)
	f.terminals()
	f.say <- "active"
	f.want("a turn", client.Busy)
	f.say <- "idle"
	f.want("its end", client.Idle)
	f.terminals(2, 3)
	f.ended <- true
	f.terminals(3)
	f.ended <- true
	f.terminals()
	f.want("the last one has ended", client.Away)
	f.say <- "active"
	f.want("a turn that somebody began", client.Busy)
	f.say <- "idle"
	f.terminals()
	f.want("its end", client.Away)
	f.say <- "active"
	f.want("another turn", client.Busy)
	f.say <- "idle"
	f.terminals(4) // opened during the turn: "away" would answer all who wait for the end of the session
	f.want("its end", client.Idle)
}

// The terminal may have gone before the app-server can say what its thread does.
func TestATerminalThatEndsBeforeTheFirstStateIsNotForgotten(t *testing.T) {
	f := follow(t, 1)
	f.terminals(2)
	f.ended <- true
	f.terminals()
	f.terminals()
	f.want("the state at last", client.Away)
}

// A look that began before the thread was idle may have missed a terminal that has opened the
// thread since.
func TestOnlyALookThatBeganSinceTheThreadIsIdleSaysAway(t *testing.T) {
	f := follow(t, 0)
	f.terminals(2)
	f.want("begun", client.Idle)
	f.terminals(2)
	f.ended <- true
	f.begun <- true
	f.say <- "active"
	f.want("a turn during the look", client.Busy)
	f.say <- "idle"
	f.want("its end during the look", client.Idle)
	f.finds()
	f.say <- "active"
	f.want("another turn", client.Busy)
	f.terminals(3)
	f.say <- "idle"
	f.want("its end", client.Idle)
	f.terminals()
	f.want("the look after it", client.Away)
}

func TestAnEarlierLookDoesNotSayThatAThreadIsStillAway(t *testing.T) {
	var told []string
	v := view{tell: func(does string) { told = append(told, does) }, idle: make(chan struct{}, 1)}
	look := func(finds string, meanwhile func()) {
		v.late.Store(false)
		meanwhile()
		v.shows(finds)
	}
	nothing := func() {}
	look(client.Away, nothing)
	look(client.Away, func() { v.does(client.Idle) })
	look(client.Idle, nothing)
	look(client.Away, nothing)
	look(client.Waiting, nothing)
	v.does(client.Idle)
	look(client.Idle, nothing)
	if want := []string{client.Idle, client.Away, client.Waiting, client.Idle}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestTheDirectoryOfAThreadThatAPersonSees(t *testing.T) {
	for said, want := range map[string]string{
		`{"thread":{"cwd":"/p","parentThreadId":null,"ephemeral":false}}`: "/p",
		`{"thread":{"cwd":"/p","parentThreadId":"t-0"}}`:                  "",
		`{"thread":{"cwd":"/p","ephemeral":true}}`:                        "",
		`{"error":{"code":-32600,"message":"no such thread"}}`:            "",
	} {
		s := newAppServer(t)
		s.answer("thread/read", said)
		dir, ok, _ := dirOf(t.Context(), s.home, "thread-1")
		if ok != (want != "") || ok && dir != want {
			t.Errorf("%s: %q, %v", said, dir, ok)
		}
	}
}
