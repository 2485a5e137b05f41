package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		if want := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"trace_id":"t-1"},"uri":"c2c://inbox"}}`; v.data != want || v.id != "" {
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
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Ring(ctx, wake.Notice{}); !errors.Is(err, wake.ErrUncaptured) { // nobody writes it
		t.Errorf("the first: %v", err)
	}
	if err := l.Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUncaptured) {
		t.Errorf("the second: %v", err)
	}
	if len(l.queue) != 1 {
		t.Errorf("%d bells are in the stream", len(l.queue))
	}
}

// A client that says in each call whose session it is may have two connections for one mailbox.
// Each look at them has the same bell, or its ringer would begin anew, and ring, at each.
func TestOfTwoStreamsOfOneMailboxTheNewestRings(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	said := func(c *httpClient) {
		body := drain(t, c.post(rpcMessage(1, "tools/call", `{"name":"register","arguments":{"alias":"amber"},"_meta":{"threadId":"t-1"}}`)))
		if !strings.Contains(body, `\"alias\":\"amber\"`) {
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
			case <-l.h.Moved():
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
