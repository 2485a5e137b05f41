package mcp

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/inbox"
	"c2c/mcp/tools"
)

// One server has many clients: who calls, and what is to be told to whom, is found by the request.
func TestPeersOfOneServerAreToldApart(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	srv := tools.New(tools.Config{Open: func(inbox.Log) (*broker.Broker, error) {
		t.Error("the server has no client of its own")
		return nil, nil
	}})
	call := func(p *tools.Peer, tool, args string) []string {
		t.Helper()
		ctx := tools.WithPeer(srv.WithContext(t.Context(), server.NewInProcessSession(p.Client.Configured, nil)), p)
		text, err := json.Marshal(srv.HandleMessage(ctx, json.RawMessage(strings.TrimSpace(rpcMessage(1, "tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)))))
		if err != nil {
			t.Fatal(err)
		}
		texts, isError := replies(t, string(text)+"\n")[0].texts(t)
		if isError {
			t.Fatalf("%s: %q", tool, texts)
		}
		return texts
	}
	peers := map[string]*tools.Peer{}
	for _, alias := range []string{"amber", "birch"} {
		c := testClient{t: t, root: root, env: map[string]string{"C2C_MCP_SESSION_ID": "s-" + alias}}
		peers[alias] = &tools.Peer{Cfg: &tools.Config{}, Client: tools.Client{Configured: "codex", Getenv: c.config().Getenv, Open: c.config().Open}}
		call(peers[alias], "register", `{"alias":"`+alias+`"}`)
	}
	peers["birch"].Warn("something is odd")
	if got := call(peers["amber"], "whoami", `{}`); len(got) != 1 || fields(t, got[0])["alias"] != "amber" {
		t.Errorf("amber is %q", got)
	}
	if got := call(peers["birch"], "whoami", `{}`); len(got) != 2 || fields(t, got[0])["alias"] != "birch" || !strings.Contains(got[1], "odd") {
		t.Errorf("birch is %q", got)
	}
}
