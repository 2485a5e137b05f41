package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"c2c/mcp/tools"
	"c2c/wake"
)

func TestABellHasNoWords(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber, birch := l.two()
	amber.want("send", `{"to_alias":"birch","content":"precious"}`)
	e, leave := birch.watched()
	all := e.answering(birch)
	bell := birch.bellOf(birch.sid())
	if err := bell.Ring(t.Context(), wake.Notice{Count: 1, From: []string{"amber"}, RingID: "t-1"}); err != nil {
		t.Fatal(err)
	}
	for v := range all {
		if v.data == "" {
			continue
		}
		if want := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"trace_id":"t-1"},"uri":"c2c://inbox"}}`; v.data != want || v.id == "" {
			t.Errorf("rung by %+v", v)
		}
		break
	}
	if got := l.h.Roots(); len(got) != 1 || got[0] != l.root {
		t.Errorf("roots %q", got)
	}
	leave()
	if got := l.h.Streams(l.root); len(got) != 0 {
		t.Errorf("without a stream there are %d bells", len(got))
	}
	if err := bell.Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("rung without a stream: %v", err)
	}
}

// Open is not enough: the client is to read.
func TestAClientThatAnswersNoPingHasNoBellAndLosesItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeLab(t)
		c := l.dial("one", 0)
		c.want("register", `{"alias":"amber"}`)
		e := c.stream()
		for pings := 0; ; {
			v, ok := e.next()
			if strings.Contains(v.data, `"ping"`) {
				pings++
			}
			if len(l.h.Streams(l.root)) > 0 {
				t.Error("it has a bell")
			}
			if !ok {
				if pings != mostQuiet {
					t.Errorf("%d pings were sent", pings)
				}
				break
			}
		}
		if got := c.alias(); got != "amber" {
			t.Errorf("its session is that of %v", got)
		}
	})
}

func TestAClientThatAnswersKeepsItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeLab(t)
		c := l.dial("one", 0)
		c.want("register", `{"alias":"amber"}`)
		all := c.stream().answering(c)
		bell := c.bellOf(c.sid())
		time.Sleep(time.Hour) // longer than a session without a mailbox stays
		if err := bell.Ring(t.Context(), wake.Notice{}); err != nil {
			t.Error(err)
		}
		for v := range all {
			if v.data != "" {
				return
			}
		}
		t.Error("its stream has ended")
	})
}

func TestALostStreamGoesOnWhereItWas(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := l.dial("one", 0)
	c.want("register", `{"alias":"amber"}`)
	sid := c.sid()
	e, leave := c.watched()
	first, _ := e.next()
	all := e.answering(c)
	bell := c.bellOf(sid)
	for range 3 {
		if err := bell.Ring(t.Context(), wake.Notice{}); err != nil {
			t.Fatal(err)
		}
	}
	seen := <-all
	leave()
	for _, tc := range []struct {
		from  string
		again int // events that are sent again; -1: the stream is a new one
	}{{first.id, 3}, {seen.id, 2}, {first.id, 3}, {strings.Replace(seen.id, "-", "-9", 1), -1}, {first.id, -1}, {"", -1}, {"x", -1}, {"x-1", -1}} {
		again, leave := c.watched("Last-Event-ID", tc.from)
		begins, _ := again.next()
		missed := 0
		for v, ok := again.next(); ok && !strings.Contains(v.data, `"ping"`); v, ok = again.next() {
			t.Errorf("from %q: before the ping comes %+v", tc.from, v)
		}
		for range max(0, tc.again) {
			if v, ok := again.next(); ok && strings.Contains(v.data, tools.InboxURI) {
				missed++
			}
		}
		name, _, _ := strings.Cut(begins.id, "-")
		if same := strings.HasPrefix(seen.id, name+"-"); same != (tc.again >= 0) || missed != max(0, tc.again) {
			t.Errorf("from %q: begins with %s, and %d events were sent again, want %d", tc.from, begins.id, missed, tc.again)
		}
		leave()
	}
}

func TestTheNewestStreamStays(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := l.dial("one", 0)
	c.want("register", `{"alias":"amber"}`)
	old := c.stream()
	next := c.stream()
	for {
		if _, ok := old.next(); !ok {
			break
		}
	}
	all := next.answering(c)
	if err := c.bellOf(c.sid()).Ring(t.Context(), wake.Notice{}); err != nil {
		t.Error(err)
	}
	for v := range all {
		if v.data != "" {
			return
		}
	}
	t.Error("the new one has ended")
}

func TestABellIsNotRungWhileTheOneBeforeIsNotWritten(t *testing.T) {
	l := newListener(0)
	l.events = newStream(keptBells)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Ring(ctx, wake.Notice{}); !errors.Is(err, wake.ErrUncaptured) { // nobody writes it
		t.Errorf("the first: %v", err)
	}
	if err := l.Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUncaptured) {
		t.Errorf("the second: %v", err)
	}
	if got := l.events.next(); got != 2 {
		t.Errorf("%d bells are in the stream", got-1)
	}
}

func TestAStreamKeepsTheNewestEvents(t *testing.T) {
	st := newStream(3)
	for i := range 5 {
		st.add([]byte(fmt.Sprint(i + 1)))
	}
	for after, want := range map[int]string{0: "", 1: "", 2: "345", 3: "45", 5: "", 6: ""} {
		got := ""
		if events, _ := st.after(after); st.hasAllAfter(after) {
			for _, e := range events {
				got += string(e)
			}
		}
		if got != want {
			t.Errorf("behind %d: %q, want %q", after, got, want)
		}
	}
	if st.hasAllAfter(1) || !st.hasAllAfter(2) || !st.hasAllAfter(5) || st.hasAllAfter(6) {
		t.Error("it does not know what it has")
	}
}

// The client calls tools at the same time, and loses its stream again and again.
func TestNoBellIsLost(t *testing.T) {
	const bells, workers = 4000, 12
	l := newHTTPLab(t, HTTPLimits{Requests: 1000, Calls: 1000})
	c := l.dial("one", 0)
	c.want("register", `{"alias":"amber"}`)
	sid := c.sid()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { callUntil(ctx, c) })
	}
	seen := map[string]bool{}
	last, rung := "", 0
	for rung < bells {
		e := c.stream("Last-Event-ID", last)
		events := e.answering(c)
		bell := c.bellOf(sid)
		for range 50 {
			if err := bell.Ring(ctx, wake.Notice{}); err != nil {
				t.Fatal(err)
			}
			rung++
		}
		for rung-len(seen) > rung%37 { // the others are under way when it breaks
			v, ok := <-events
			if !ok {
				t.Fatal("the stream has ended")
			}
			if v.data != "" {
				seen[v.id] = true
			}
			last = v.id
		}
		e.resp.Body.Close()
		for range events { // what came and was not looked at
		}
	}
	events := c.stream("Last-Event-ID", last).answering(c)
	for len(seen) < rung {
		v, ok := <-events
		if !ok {
			t.Fatal("the stream ended")
		}
		if v.data != "" {
			seen[v.id] = true
		}
	}
	stop()
	all.Wait()
}

func callUntil(ctx context.Context, c *httpClient) {
	for ctx.Err() == nil {
		req := c.request(http.MethodPost, rpcMessage(1, "tools/call", `{"name":"whoami","arguments":{}}`)).WithContext(ctx)
		if resp, err := c.client.Do(req); err == nil {
			if resp.StatusCode != http.StatusOK {
				c.t.Errorf("whoami: %s", resp.Status)
			}
			resp.Body.Close()
		}
	}
}

// A client that says in each call whose session it is may have two connections for one mailbox. Each look at them has the same
// bell, or its ringer would begin anew, and ring, at each.
func TestOfTwoStreamsOfOneMailboxTheNewestRings(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	said := func(c *httpClient) {
		body := drain(t, c.post(rpcMessage(1, "tools/call", `{"name":"register","arguments":{"alias":"amber"},"_meta":{"threadId":"t-1"}}`)))
		if !strings.Contains(body, "registered amber") {
			t.Fatal(body)
		}
	}
	var last, sid = wake.Doorbell(nil), ""
	for range 8 {
		c := l.dial("codex-mcp-client", 0)
		said(c)
		if sid == "" {
			for _, s := range l.h.sessions.snapshot() {
				sid = s.peer.Session()
			}
		}
		c.stream().answering(c)
		for {
			bell := l.h.Streams(l.root)[sid]
			if bell != nil && bell != last {
				last = bell
				break
			}
			select {
			case <-l.h.Changed(l.root):
			case <-t.Context().Done():
				t.Fatal("no bell")
			}
		}
	}
	for range 20 {
		if got := l.h.Streams(l.root); len(got) != 1 || got[sid] != last {
			t.Fatalf("now the bells are %v, want %v", got, last)
		}
	}
}
