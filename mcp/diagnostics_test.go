package mcp

import (
	"fmt"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/wake"
)

// wantDiagnostics calls the tool and compares some of its fields; a value that ends in "…" is a
// beginning.
func wantDiagnostics(t *testing.T, what, got string, want map[string]string) {
	t.Helper()
	said := fields(t, got)
	for name, value := range want {
		is := fmt.Sprint(said[name])
		if begin, ok := strings.CutSuffix(value, "…"); ok && strings.HasPrefix(is, begin) || is == value {
			continue
		}
		t.Errorf("%s: %s is %q, want %q", what, name, is, value)
	}
}

func TestDiagnosticsTellWhyMailDoesNotWakeAClientOverHTTP(t *testing.T) {
	l := newHTTPLab(t)
	c := l.dial("Cursor", 0)
	ask := func() string { return c.want("runtime_diagnostics", `{}`) }
	wantDiagnostics(t, "before it has a mailbox", ask(), map[string]string{
		"transport": "http", "transport_why": "the client sends its calls to the HTTP daemon…", "protocol": newest, "root": l.root, "root_chosen_by": "test",
		"mcp_session": c.id[:8], "daemon_url": "http://127.0.0.1:1/mcp", "version": broker.Version,
		"surface_support": "degraded", "surface_why": "this session has no mailbox yet…", "alias": "<nil>",
		"fallback": "if no daemon answers: c2c serve start. To do without it: take the entry…"})
	if said := fields(t, ask())["fallback"].(string); !strings.Contains(said, "c2c install cursor sets it up over stdio") {
		t.Errorf("it is to do without the daemon so: %s", said)
	}
	if said := fields(t, l.dial("new", 0).want("runtime_diagnostics", `{}`))["fallback"].(string); !strings.Contains(said, "c2c install --print mcp") {
		t.Errorf("a client that we do not know does without the daemon so: %s", said)
	}
	c.want("register", `{"alias":"amber"}`)
	wantDiagnostics(t, "no stream", ask(), map[string]string{"surface_support": "degraded", "surface_why": "the client has no stream…", "alias": "amber"})
	e := c.stream()
	wantDiagnostics(t, "no answer to a ping", ask(), map[string]string{"surface_support": "degraded", "surface_why": "the client has a stream of events open, but has not answered…"})
	events := e.answering(c)
	bell := c.bellOf(c.sid())
	if err := bell.Ring(t.Context(), wake.Notice{}); err != nil {
		t.Fatal(err)
	}
	<-events
	release, ok, err := l.broker(t).Locks.BorrowRinging(c.sid()) // as the daemon's ringer has it
	if !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	wantDiagnostics(t, "a stream that is rung", ask(), map[string]string{"surface_support": "full", "surface_why": "its client has a stream…"})
	if err := release(); err != nil {
		t.Fatal(err)
	}
	// The root and how it was chosen outlive the daemon.
	e.resp.Body.Close()
	l.stop()
	l.start()
	wantDiagnostics(t, "after a start", ask(), map[string]string{"root_chosen_by": "test", "protocol": newest, "alias": "amber"})
	if strings.Contains(ask(), c.id) {
		t.Error("they tell the id by which anybody could go on with the session")
	}
}

func TestDiagnosticsTellOfAServerThatTheClientHasStarted(t *testing.T) {
	amber, _ := pair(t)
	amber.want("register", `{"alias":"amber"}`)
	wantDiagnostics(t, "stdio", amber.want("runtime_diagnostics", `{}`), map[string]string{
		"transport": "stdio", "transport_why": "the client has started…", "root": amber.root, "protocol": "2025-11-25", "daemon_url": "<nil>", "mcp_session": "<nil>",
		"surface_support": "degraded", "surface_why": "c2c knows of nothing that wakes it; mail comes …"})
}

func TestDiagnosticsCountTheBellsOfTheirSession(t *testing.T) {
	l := newHTTPLab(t)
	amber, birch := l.two()
	b := l.broker(t)
	for sid, outcomes := range map[string][]string{
		amber.sid(): {wake.Rang, wake.Coalesced, wake.Coalesced, wake.Filtered, wake.Uncaptured, wake.Away, wake.Failed},
		birch.sid(): {wake.Rang, wake.Rang},
	} {
		for i, outcome := range outcomes {
			b.Events.Doorbell(t.Context(), sid, []mail.Message{{ID: fmt.Sprint("m-", i), Kind: "task"}}, wake.Ring{Outcome: outcome, RingID: fmt.Sprint("t-", i)})
		}
	}
	b.Events.Write(t.Context(), "rpcMessage", "tool", `surface_doorbell_sent`, "session_id", amber.sid())
	got := fields(t, amber.want("runtime_diagnostics", `{}`))["doorbells"].(map[string]any)
	last := got["last"].([]any)
	delete(got, "last")
	if want := "map[coalesced:2 filtered:1 rang:1 send_failed:1 uncaptured:2]"; fmt.Sprint(got) != want {
		t.Errorf("doorbells %v, want %s", got, want)
	}
	if len(last) != 5 || !strings.Contains(fmt.Sprint(last[4]), "kind:task message_id:m-6 method:sse result:send-failed trace_id:t-6") {
		t.Errorf("the last are %v", last)
	}
}
