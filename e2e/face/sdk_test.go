package face

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Most clients are made with this SDK: it decides what a stream, a session and an answer must look
// like.
func TestTheSDKOfTypeScript(t *testing.T) {
	for version, module := range map[string]string{"1": "@modelcontextprotocol/sdk", "2": "@modelcontextprotocol/client"} {
		t.Run(version, func(t *testing.T) { testSDK(t, version, module) })
	}
}

func testSDK(t *testing.T, version, module string) {
	d := start(t)
	cmd := node(t, "drive.mjs", d.url, d.token, d.home, version)
	cmd.Dir = script(t, "drive.mjs", map[string]string{module: tool(t, strings.ReplaceAll(module, "/", "+")+"@")})
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, wrong.String())
	}
	var said struct {
		Tools, Prompts              int
		Bell, Inbox, Polled, Answer string
		Progress                    bool
	}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if said.Tools != 9 || said.Prompts != 1 || said.Bell != "notifications/resources/updated c2c://inbox string" ||
		said.Inbox != `{"waiting":1,"from":["amber"]}` || said.Polled != "hello" || said.Answer != "forty-two" || !said.Progress {
		t.Errorf("%+v", said)
	}
}

// A client of MCP 2026-07-28 alone finds that version, listens, is rung and polls, over both
// transports. One that can fall back and that we know by name has a session of 2025-11-25, and so
// has one that initializes.
func TestTheSDKOfTypeScriptWithTheLatestRevision(t *testing.T) {
	for _, transport := range []string{"http", "stdio"} {
		t.Run(transport, func(t *testing.T) {
			d := start(t)
			d.c2c("register", "--session-id", "amber", "amber")
			args := []string{"listen.mjs", d.home, d.home, program("c2c")}
			if transport == "http" {
				args = append(args, d.url, d.token)
			}
			cmd := node(t, args...)
			cmd.Dir = script(t, "listen.mjs", map[string]string{"@modelcontextprotocol/client": tool(t, "@modelcontextprotocol+client@")})
			var out, wrong bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &wrong
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, wrong.String())
			}
			want := `{"both":"2025-11-25","session":true,"plain":"2025-11-25","auto":"2026-07-28 true {\"claims\":[]}","version":"2026-07-28","offered":true,"honored":["c2c://inbox"],` +
				`"bell":"c2c://inbox string","inbox":"{\"waiting\":1,\"from\":[\"amber\"]}","polled":"hello","surface":"full"}`
			if got := strings.TrimSpace(out.String()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
