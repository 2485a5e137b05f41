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

// A follower hears what the thread does when it comes, of each change, and from the next app-server, too. What it cannot
// know it does not go on saying.
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

// The app-server keeps an idle thread whose terminal has gone, and tells nobody.
func TestAThreadIsAwayWhenItsTerminalHasEnded(t *testing.T) {
	say := make(chan string)
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
			switch req.Method {
			case "initialize":
				write(`{"id":` + string(req.ID) + `,"result":{}}`)
			case "thread/read":
				write(`{"id":` + string(req.ID) + `,"result":{"thread":{"status":{"type":"idle"}}}}`)
				for state := range say {
					write(`{"method":"thread/status/changed","params":{"threadId":"thread-1","status":{"type":"` + state + `"}}}`)
				}
			}
		}
	})})
	daemon := process{pid: 1, client: true, threads: since(time.Hour, "thread-1")}
	looks, ended := make(chan []process), make(chan bool)
	told := make(chan string)
	ctx, stop := context.WithCancel(t.Context())
	s := &Server{Home: home, Thread: "thread-1",
		processes: func(string) []process {
			select {
			case terminals := <-looks:
				return append(terminals, daemon)
			case <-ctx.Done():
				return nil
			}
		},
		ended: func(ctx context.Context, pids []int) {
			select {
			case <-ended:
			case <-ctx.Done():
			}
		}}
	done := make(chan bool)
	go func() {
		defer close(done)
		s.Follow(ctx, func(does string) {
			select {
			case told <- does:
			case <-ctx.Done():
			}
		})
	}()
	want := func(step string, words ...string) {
		t.Helper()
		for _, word := range words {
			if got := <-told; got != word {
				t.Errorf("%s: told %q, want %q", step, got, word)
			}
		}
	}
	terminals := func(pids ...int) {
		var all []process
		for _, pid := range pids {
			all = append(all, process{pid: pid, client: true, terminal: true})
		}
		looks <- all
	}
	terminals() // it was begun for a terminal that comes
	want("begun", client.Idle)
	terminals()
	say <- "active"
	want("a turn", client.Busy)
	say <- "idle"
	want("its end", client.Idle)
	terminals(2, 3)
	ended <- true
	terminals(3)
	ended <- true
	terminals()
	want("the last one has ended", client.Away)
	say <- "active"
	want("a turn that somebody began", client.Busy)
	say <- "idle"
	want("its end", client.Away)
	terminals(4)
	want("another terminal", client.Idle)
	stop()
	close(say)
	<-done
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
