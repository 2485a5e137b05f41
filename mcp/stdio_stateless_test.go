package mcp

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/wake"
)

// modernParams are params of 2026-07-28, of a client called so.
func modernParams(client, params string) string {
	meta := `"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28","` + mcp.MetaKeyClientInfo + `":{"name":"` + client + `","version":"0"},"` + mcp.MetaKeyClientCapabilities + `":{}}`
	if params != "" {
		meta = params + "," + meta
	}
	return "{" + meta + "}"
}

// bellsOf gets what the client's bells are found by, each time it begins to listen.
type bellsOf chan func() map[string]wake.Doorbell

func dialModern(t *testing.T, client string) (*conn, *Stateless, bellsOf, *[]string) {
	bells := make(bellsOf, 8)
	m := &Stateless{Listens: func(all func() map[string]wake.Doorbell, _ <-chan struct{}) { bells <- all }}
	cfg := testClient{t: t, root: filepath.Join(t.TempDir(), "root")}.config()
	cfg.PID = os.Getpid()
	cfg.Client, cfg.Stateless = client, m
	var begun []string
	cfg.Initialized = func(name string) { begun = append(begun, name) }
	return dial(t, cfg, "new"), m, bells, &begun
}

func TestTheLatestRevisionIsOfferedOverStdioToAClientThatWeDoNotKnow(t *testing.T) {
	for _, c := range []struct {
		configured, named string
		want              bool
	}{{"", "new", true}, {"", "claude-code", false}, {"", "copilot-cli", false}, {"claude", "new", false}} {
		conn, _, _, begun := dialModern(t, c.configured)
		conn.write("server/discover", modernParams(c.named, ""))
		r := conn.read()
		if got := strings.Contains(string(r.Result), `"2026-07-28"`) && strings.Contains(string(r.Result), newest); got != c.want || !c.want && r.Error.Code != mcp.METHOD_NOT_FOUND {
			t.Errorf("%+v: %s %+v", c, r.Result, r.Error)
		}
		conn.write("tools/list", modernParams(c.named, ""))
		if r := conn.read(); r.Error != nil {
			t.Errorf("%+v: %+v", c, r.Error)
		}
		if len(*begun) != 0 {
			t.Errorf("%+v: a throw-away copy has begun %q", c, *begun)
		}
		conn.close()
	}
}

// Who asks for no revision is refused as ever, and one that initializes has none of this.
func TestAClientThatInitializesIsOfferedNothingNew(t *testing.T) {
	conn, m, _, _ := dialModern(t, "")
	conn.write("server/discover", "{}")
	if r := conn.read(); r.Error == nil || r.Error.Code != mcp.METHOD_NOT_FOUND {
		t.Errorf("discover without a revision: %s", r.Result)
	}
	conn.write("initialize", `{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"new","version":"0"}}`)
	if r := conn.read(); !strings.Contains(string(r.Result), newest) || strings.Contains(string(r.Result), "resources") {
		t.Errorf("initialize: %s", r.Result)
	}
	if m.srv != nil {
		t.Error("the server for the later revision was made")
	}
	conn.close()
}

func TestAClientOfTheLatestRevisionIsRungOverStdio(t *testing.T) {
	c, _, bells, begun := dialModern(t, "")
	c.write("tools/call", modernParams("new", `"name":"register","arguments":{"alias":"birch"}`))
	if r := c.read(); r.Error != nil || strings.Contains(string(r.Result), `"isError":true`) {
		t.Fatalf("register: %s %+v", r.Result, r.Error)
	}
	listen := func() wake.Doorbell {
		c.write("subscriptions/listen", modernParams("new", `"notifications":{"resourceSubscriptions":["c2c://inbox"]}`))
		if r := c.read(); !strings.Contains(string(r.Params), "c2c://inbox") || !strings.HasSuffix(r.Method, "acknowledged") {
			t.Fatalf("acknowledged with %s %s", r.Method, r.Params)
		}
		for _, bell := range (<-bells)() {
			return bell
		}
		t.Fatal("there is no bell")
		return nil
	}
	first := listen()
	c.write("ping", "{}")
	if r := c.read(); r.Error != nil {
		t.Errorf("beside a subscription: %+v", r.Error)
	}
	second := listen()
	if err := first.Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("the first one rings: %v", err)
	}
	if err := second.Ring(t.Context(), wake.Notice{Count: 1, From: []string{"amber"}, RingID: "t-1"}); err != nil {
		t.Fatal(err)
	}
	want := `{"_meta":{"` + mcp.MetaKeySubscriptionID + `":4,"trace_id":"t-1"},"uri":"c2c://inbox"}`
	if r := c.read(); r.Method != mcp.MethodNotificationResourceUpdated || string(r.Params) != want {
		t.Errorf("rung by %s %s", r.Method, r.Params)
	}
	if !slices.Equal(*begun, []string{"new"}) {
		t.Errorf("begun for %q", *begun)
	}
	c.close() // a subscription that is open does not keep the server
	if err := second.Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("rung when it has ended: %v", err)
	}
}

func TestASubscriptionToNothingIsAcknowledgedOverStdio(t *testing.T) {
	c, _, _, _ := dialModern(t, "")
	for i := range 200 {
		c.write("subscriptions/listen", modernParams("new", `"notifications":{"toolsListChanged":true}`))
		if r := c.read(); !strings.HasSuffix(r.Method, "acknowledged") {
			t.Fatalf("subscription %d: %s %s", i, r.Method, r.Result)
		}
		if r := c.read(); r.ID == nil {
			t.Fatalf("subscription %d: %s instead of the answer", i, r.Method)
		}
	}
	c.close()
}

func TestASubscriptionThatIsCancelledRingsNoMore(t *testing.T) {
	c, m, bells, _ := dialModern(t, "")
	c.write("tools/call", modernParams("new", `"name":"register","arguments":{"alias":"birch"}`))
	c.read()
	c.write("subscriptions/listen", modernParams("new", `"notifications":{"resourceSubscriptions":["c2c://inbox"]}`))
	c.read()
	all := <-bells
	for len(m.changed) > 0 {
		<-m.changed
	}
	io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n")
	<-m.changed
	if got := all(); len(got) != 0 {
		t.Errorf("there are %d bells", len(got))
	}
	c.close()
}
