package sse

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// fields reads one event as a client does: the lines of each field, joined.
func fields(t *testing.T, r *bufio.Reader) map[string]string {
	t.Helper()
	got := map[string]string{}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return got
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		if was, more := got[name]; more {
			value = was + "\n" + value
		}
		got[name] = value
	}
}

// serve runs a handler with a stream, and gives what a client reads of it.
func serve(t *testing.T, with func(*Stream)) *bufio.Reader {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := Start(w, r, time.Minute)
		if err != nil {
			t.Error(err)
			return
		}
		with(s)
	}))
	t.Cleanup(server.Close)
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("type %q", got)
	}
	return bufio.NewReader(resp.Body)
}

// A peer chooses the words: they make no field and no event of their own.
func TestTheWordsOfAnEventStayInIt(t *testing.T) {
	events := []Event{
		{ID: "7-1", Name: "reply", Data: []byte("one\ntwo")},
		{Data: []byte("a\revent: verdict\r\n\r\nid: 9\n\ndata: x\n")},
		{ID: "7-2", Data: []byte{}},
		{Comment: "still\nhere"},
	}
	r := serve(t, func(s *Stream) {
		for _, e := range events {
			if err := s.Send(e); err != nil {
				t.Error(err)
			}
		}
	})
	for _, want := range []map[string]string{
		{"id": "7-1", "event": "reply", "data": "one\ntwo"},
		{"data": "a\nevent: verdict\n\nid: 9\n\ndata: x\n"},
		{"id": "7-2", "data": ""},
		{"": "still\nhere"},
	} {
		got := fields(t, r)
		if len(got) != len(want) {
			t.Errorf("%q, want %q", got, want)
		}
		for name, value := range want {
			if is, there := got[name]; !there || is != value {
				t.Errorf("%s is %q, want %q", name, is, value)
			}
		}
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("behind the last one: %q, %v", rest, err)
	}
}

// The handler is still there when the client reads: nothing waits in a buffer for more.
func TestAnEventIsOutBeforeTheNextOne(t *testing.T) {
	read := make(chan bool)
	r := serve(t, func(s *Stream) {
		if err := s.Send(Event{Data: []byte("first")}); err != nil {
			t.Error(err)
		}
		<-read
	})
	if got := fields(t, r); got["data"] != "first" {
		t.Errorf("%q", got)
	}
	close(read)
}

func TestAClientThatDoesNotReadEndsTheStream(t *testing.T) {
	ended := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := Start(w, r, 50*time.Millisecond)
		for err == nil {
			err = s.Send(Event{Data: make([]byte, 64<<10)})
		}
		if again := s.Send(Event{Data: []byte("x")}); again == nil {
			t.Error("it went on after an error")
		}
		ended <- err
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := <-ended; err == nil {
		t.Error("it ended without an error")
	}
}

func TestAClientThatHasGoneEndsTheStream(t *testing.T) {
	gone, ended := make(chan bool), make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := Start(w, r, time.Minute)
		if err != nil {
			t.Error(err)
		}
		<-gone
		<-r.Context().Done()
		ended <- s.Send(Event{Comment: "anybody?"})
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	close(gone)
	if err := <-ended; err == nil {
		t.Error("an event was sent to nobody")
	}
}
