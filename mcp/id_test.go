package mcp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// ids are those that a client may use. A number above 2^53 is none that a client counts to.
var ids = []string{"0", "-1", "9007199254740991", `"007"`, `"a\"b"`}

func TestAnIDComesBackOverHTTPAsItWas(t *testing.T) {
	l := newHTTPLab(t)
	for _, version := range []string{"2025-03-26", "2025-06-18", newest, "2026-07-28"} {
		c := l.dialAs("one", 0, newest)
		meta, header := "", []string{}
		if version == "2026-07-28" {
			c.id, meta = "", `"_meta":{"`+mcp.MetaKeyProtocolVersion+`":"2026-07-28","`+mcp.MetaKeyClientInfo+`":{"name":"new","version":"0"},"`+mcp.MetaKeyClientCapabilities+`":{}},`
			header = []string{mcp.HeaderProtocolVersion, version, "Mcp-Method", "tools/call", "Mcp-Name", "list", "Accept", "application/json, text/event-stream"}
		}
		for _, id := range ids {
			resp := c.post(`{"params":{`+meta+`"name":"list","arguments":{}},"jsonrpc":"2.0", "id" : `+id+` ,"method":"tools/call"}`, header...)
			if body := drain(t, resp); !strings.Contains(body, `"id":`+id+`,`) && !strings.Contains(body, `"id":`+id+`}`) {
				t.Errorf("%s, %s: %s, %s", version, id, resp.Status, body)
			}
		}
		resp := c.post(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{`+meta+`"name":"list","arguments":{}}}`, header...)
		if body := drain(t, resp); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"id":null`) {
			t.Errorf("%s, null: %s, %s", version, resp.Status, body)
		}
	}
}

// Only the revision 2025-03-26 had batches, and no client that c2c knows sends them.
func TestABatchIsRefused(t *testing.T) {
	batch := "[" + rpcMessage(1, "ping", "") + "]"
	c := newHTTPLab(t).dialAs("one", 0, "2025-03-26")
	resp := c.post(batch)
	if body := drain(t, resp); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "no batch") {
		t.Errorf("%s: %s", resp.Status, body)
	}
}
