package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/mcp/tools"
	"c2c/sessions/permission"
	"c2c/wake/watch"
)

// relayed is a client with a channel, and what others see of its requests.
type relayed struct {
	*conn
	relay *tools.Relay
	store *permission.Store
	home  string
}

// relay starts a client whose session is amber, when somebody is there.
func relayLab(t *testing.T, lifetime time.Duration) *relayed {
	t.Helper()
	amber, _ := pair(t)
	home := t.TempDir()
	amber.env["CLAUDE_CONFIG_DIR"] = home
	b, err := broker.Open(broker.Config{Root: amber.root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	cfg := amber.config()
	cfg.Channel, cfg.Client, cfg.PID = true, "claude", os.Getpid()
	cfg.Relay = &tools.Relay{Lifetime: lifetime}
	r := &relayed{conn: dial(t, cfg, "claude-code"), relay: cfg.Relay, store: permission.Open(b.Dir(), time.Now), home: home}
	t.Cleanup(r.relay.Close)
	return r
}

func (r *relayed) ask(id, input string) {
	r.t.Helper()
	r.notify(fmt.Sprintf(`{"request_id":%q,"tool_name":"Bash","description":"show","input_preview":%q}`, id, input))
}

func (r *relayed) notify(params string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, `{"jsonrpc":"2.0","method":"`+tools.PermissionRequest+`","params":`+params+"}\n"); err != nil {
		r.t.Fatal(err)
	}
}

// await waits until a request is in a state that is told.
func (r *relayed) await(id string, is func(permission.Request) bool) (q permission.Request) {
	r.t.Helper()
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	err := changes.Until(ctx, r.store.LockPath(), func() (bool, error) {
		var err error
		q, err = r.store.Get("amber", id)
		if errors.Is(err, permission.ErrUnknown) {
			return false, nil
		}
		return is(q), err
	})
	if err != nil {
		r.t.Fatalf("request %s is %+v: %v", id, q, err)
	}
	return q
}

func inState(s permission.State) func(permission.Request) bool {
	return func(q permission.Request) bool { return q.State == s }
}

func (r *relayed) record(status string, at time.Time) {
	r.t.Helper()
	dir := filepath.Join(r.home, "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	text := fmt.Sprintf(`{"pid":%d,"sessionId":"x","status":%q,"statusUpdatedAt":%d}`, os.Getpid(), status, at.UnixMilli())
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(os.Getpid(), ".json")), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func TestRelayIsOfferedToAClientWithAChannel(t *testing.T) {
	offered := func(cfg tools.Config) string {
		out := exchange(t, tools.New(cfg), initialize(1, "2025-11-25"))
		var result struct {
			Capabilities struct{ Experimental map[string]any }
		}
		if err := json.Unmarshal(out[0].Result, &result); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(result.Capabilities.Experimental)
		return string(text)
	}
	for _, tc := range []struct {
		channel bool
		relay   *tools.Relay
		want    string
	}{
		{true, &tools.Relay{}, `{"claude/channel":{},"claude/channel/permission":{}}`},
		{true, nil, `{"claude/channel":{}}`},
		{false, &tools.Relay{}, `null`},
	} {
		if got := offered(tools.Config{Channel: tc.channel, Relay: tc.relay}); got != tc.want {
			t.Errorf("channel %v: %s, want %s", tc.channel, got, tc.want)
		}
		tc.relay.Close()
	}
}

func TestDiagnosticsTellOfTheRelay(t *testing.T) {
	amber, _ := pair(t)
	cfg := amber.config()
	cfg.Channel, cfg.Relay = true, &tools.Relay{}
	c := dial(t, cfg, "claude-code")
	if texts, isError := c.tool("runtime_diagnostics", "{}", ""); isError || !strings.Contains(texts[0], `"permission_relay":"on: `) {
		t.Errorf("%q", texts)
	}
	c.close()
	cfg.Relay.Close()
}

func TestVerdictReachesTheClient(t *testing.T) {
	r := relayLab(t, 0)
	for _, tc := range []struct {
		id    string
		allow bool
		want  string
	}{{"abcde", true, `{"behavior":"allow","request_id":"abcde"}`}, {"bcdef", false, `{"behavior":"deny","request_id":"bcdef"}`}} {
		r.ask(tc.id, `"date"`)
		q := r.await(tc.id, inState(permission.StateOpen))
		if q.Alias != "amber" || q.Tool != "Bash" || q.Description != "show" || q.Input != `"date"` || q.ExpiresAt-q.AskedAt < 500 {
			t.Errorf("asked %+v", q)
		}
		if _, err := r.store.Decide(t.Context(), tc.id, permission.Verdict{Allow: tc.allow, By: "max", Via: "terminal", Proof: "login"}); err != nil {
			t.Fatal(err)
		}
		if got := r.read(); got.Method != tools.PermissionVerdict || string(got.Params) != tc.want {
			t.Errorf("the client got %s %s", got.Method, got.Params)
		}
		r.await(tc.id, func(q permission.Request) bool { return q.SentAt > 0 })
	}
	r.close()
}

func TestAnswerInTheTerminalEndsARequest(t *testing.T) {
	r := relayLab(t, 0)
	r.record("waiting", time.Now())
	r.ask("abcde", `"date"`)
	r.await("abcde", inState(permission.StateOpen))
	r.record("busy", time.Now().Add(6*time.Second)) // so it counts also if the relay has not seen it wait
	r.await("abcde", inState(permission.StateTerminal))
	var decided *permission.DecidedError
	if _, err := r.store.Decide(t.Context(), "abcde", permission.Verdict{Allow: true, By: "max", Proof: "login"}); !errors.As(err, &decided) {
		t.Errorf("a verdict behind it: %v", err)
	}
	// The next one is open, although the first has ended so.
	r.ask("bcdef", `"date"`)
	r.await("bcdef", inState(permission.StateOpen))
	r.close()
}

func TestRequestEndsWithItsTimeAndItsClient(t *testing.T) {
	r := relayLab(t, time.Millisecond)
	r.ask("abcde", `"date"`)
	r.await("abcde", inState(permission.StateExpired))
	r.close()
	r.relay.Close()

	r = relayLab(t, 0)
	r.ask("abcde", `"date"`)
	r.await("abcde", inState(permission.StateOpen))
	r.close()
	r.relay.Close()
	// Not found out by the lock alone: it is written down.
	data, err := os.ReadFile(filepath.Join(filepath.Dir(r.store.LockPath()), "audit.jsonl"))
	if err != nil || !strings.Contains(string(data), `"result":"gone"`) {
		t.Errorf("audit %q, %v", data, err)
	}
}

func TestStrangeRequestsStopNobody(t *testing.T) {
	r := relayLab(t, 0)
	for _, params := range []string{`{}`, `{"request_id":7}`, `{"request_id":"../../x","tool_name":"Bash"}`, `{"request_id":"abcdl"}`,
		`{"request_id":["abcde"],"_meta":{"x":1}}`} {
		r.notify(params)
	}
	for i := range 200 {
		r.ask(string([]byte{'a' + byte(i/8%8), 'a' + byte(i%8), 'x', 'y', 'z'}), strings.Repeat("x", 64<<10))
	}
	r.write("ping", "")
	if got := r.read(); got.ID == nil || *got.ID != r.id {
		t.Errorf("the answer to a ping is %+v", got)
	}
	r.ask("zzzzz", `"date"`) // may be one too many, as the others
	r.close()
	r.relay.Close()
	all, err := r.store.List(t.Context())
	if err != nil || len(all) == 0 {
		t.Errorf("%d requests, %v", len(all), err)
	}
	for _, q := range all {
		if q.State == permission.StateOpen || len(q.Input) > 5000 {
			t.Errorf("left is %s, %s, with %d bytes", q.ID, q.State, len(q.Input))
		}
	}
}
