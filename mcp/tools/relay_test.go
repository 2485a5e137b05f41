package tools

import (
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/client"
	"c2c/sessions/permission"
	"c2c/wake/watch"
)

func TestWhenADialogIsOver(t *testing.T) {
	at := time.Unix(1000, 0)
	is := func(word string, after time.Duration) client.Doing {
		return client.Doing{Word: word, Since: at.Add(after)}
	}
	for name, steps := range map[string][]struct {
		doing client.Doing
		after time.Duration
		yes   bool
	}{
		"answered": {{is("busy", -1), 0, false}, {is("waiting", 1), 1, false}, {is("busy", 2), 10 * time.Second, false},
			{is("busy", 2), 10*time.Second + betweenDialogs, true}},
		"the next dialog of the same turn": {{is("waiting", 1), 1, false}, {is("busy", 2), 2, false}, {is("waiting", 3), 3, false},
			{is("waiting", 3), time.Hour, false}, {is("busy", 4), time.Hour, false}, {is("busy", 4), time.Hour + betweenDialogs, true}},
		"its record comes late":       {{is("busy", -1), time.Second, false}, {is("busy", -1), time.Hour, false}},
		"nobody saw it wait":          {{is("idle", recordDelay+1), time.Hour, false}, {is("idle", recordDelay+1), time.Hour + betweenDialogs, true}},
		"it has no record":            {{client.Doing{}, time.Hour, false}, {client.Doing{}, 2 * time.Hour, false}},
		"it has no record in between": {{is("waiting", 1), 1, false}, {client.Doing{}, 2, false}, {is("waiting", 1), time.Hour, false}},
	} {
		a := &asked{Request: permission.Request{AskedAt: 1000}}
		for i, s := range steps {
			yes, again := a.answered(s.doing, at.Add(s.after))
			if yes != s.yes {
				t.Errorf("%s, step %d: over: %v", name, i, yes)
			}
			if left := !a.left.IsZero(); left && !yes != (again > 0) {
				t.Errorf("%s, step %d: look again in %v", name, i, again)
			}
		}
	}
}

func TestRequestsThatWaitAreBounded(t *testing.T) {
	r := &Relay{peer: NewTools(Config{}).Only, changes: watch.NewChanges(), ctx: t.Context()}
	defer r.changes.Close()
	for range 2 * maxAsking {
		r.receive(t.Context(), mcp.JSONRPCNotification{})
	}
	if len(r.queue) != maxAsking {
		t.Errorf("%d wait", len(r.queue))
	}
}
