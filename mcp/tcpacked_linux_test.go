package mcp

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// The kernels hold more of an answer than the client ever takes.
func TestMailOfAnAnswerThatDidNotArriveWaits(t *testing.T) {
	for name, breaks := range map[string]func(r raw){
		"not read": func(raw) {},
		"reset in the answer": func(r raw) {
			if _, err := io.ReadFull(r, make([]byte, 20)); err != nil {
				r.t.Error(err)
			}
			r.reset()
		},
	} {
		t.Run(name, func(t *testing.T) {
			mailWaits(t, func(c *httpClient, poll *http.Request) {
				conn := c.raw(1024)
				conn.send(poll)
				breaks(conn)
			})
		})
	}
}

func TestMailOfAnAnswerOfALaterRevisionThatDidNotArriveWaits(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{Write: 300 * time.Millisecond})
	amber := l.dial("one", 0)
	amber.want("register", `{"alias":"amber"}`)
	c := &httpClient{httpLab: l, process: os.Getpid()}
	c.modernCall("register", `{"alias":"birch"}`)
	amber.want("send", `{"to_alias":"birch","content":"precious `+strings.Repeat("x", 7000)+`","message_id":"m-1"}`)
	params := `{"name":"poll_inbox","arguments":{},"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28","` + mcp.MetaKeyClientCapabilities + `":{}}}`
	c.raw(1024).send(c.request(http.MethodPost, rpcMessage(1, "tools/call", params), mcp.HeaderProtocolVersion, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "poll_inbox", watchHeader, "1"))
	<-l.over
	amber.wantState("m-1", "queued")
}
