package mcp

import (
	"encoding/json"
	"fmt"
	"testing"

	"c2c/e2e/waketest"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/mcp/tools"
	"c2c/wake"
)

// pushed is what the client's model sees of a notification.
func (c *conn) pushed() string {
	var said struct {
		Content string
		Meta    map[string]string
	}
	if r := c.read(); r.Method != tools.ChannelNotification || json.Unmarshal(r.Params, &said) != nil {
		c.t.Fatalf("the client got %+v", r)
	}
	text := "<channel"
	for key, value := range said.Meta {
		text += fmt.Sprintf(` %s="%s"`, key, value)
	}
	return text + ">\n" + said.Content + "\n</channel>\n"
}

func TestChannel(t *testing.T) {
	start := func(t *testing.T) (*conn, *tools.Channel) {
		c := dial(t, tools.Config{Channel: true}, "claude-code")
		return c, &tools.Channel{Server: c.srv}
	}
	waketest.Run(t, waketest.Adapter{
		Idle: func(t *testing.T) waketest.Client {
			c, bell := start(t)
			return waketest.Client{Bell: bell, Next: c.pushed}
		},
		Gone: waketest.Bells{
			"nobody is connected": func(*testing.T) wake.Doorbell { return &tools.Channel{Server: tools.New(tools.Config{Channel: true})} },
			"it has gone": func(t *testing.T) wake.Doorbell {
				c, bell := start(t)
				c.close()
				return bell
			},
		},
		Deaf: waketest.Bells{
			"it does not read": func(t *testing.T) wake.Doorbell {
				c, bell := start(t)
				bell.Ring(t.Context(), wake.Notice{Count: 1})
				c.out.Read(make([]byte, 1)) // the rest of the line waits for a reader, and what is behind it
				for range 200 {             // twice what is held for it
					bell.Ring(t.Context(), wake.Notice{Count: 1})
				}
				return bell
			},
		},
		Carrier: func(bell wake.Doorbell, box *inbox.Mailbox, root string) wake.Carrier {
			return &tools.Channel{Server: bell.(*tools.Channel).Server, Box: box}
		},
	})
}

// The client writes it around the message: what could close its tag is not among it.
func TestAChannelSaysWhereMailFromOutsideComesFrom(t *testing.T) {
	m := mail.Message{From: "external-ci", To: "birch", External: true}
	if err := m.SetOrigin(mail.Origin{ChatID: "42", Path: "/", Method: "POST"}); err != nil {
		t.Fatal(err)
	}
	if got := tools.Meta(m); got["chat_id"] != "42" || got["path"] != "/" || got["method"] != "POST" || got["from"] != "external-ci" || got["identity"] != nil {
		t.Errorf("%v", got)
	}
	m.Extra[0].Value = json.RawMessage(`{"chat_id":"4\" onload=\"2","path":"/"}`)
	if got := tools.Meta(m); got["chat_id"] != nil || got["path"] != nil {
		t.Errorf("%v", got)
	}
}

func TestAChannelNamesTheSenderOnAnotherMachine(t *testing.T) {
	if got := tools.Meta(mail.Message{From: "amber@devbox", To: "birch"}); got["from"] != "amber@devbox" || got["to"] != "birch" {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{`amber@dev" x="`, "am ber@devbox", "amber@", "@devbox"} {
		if got := tools.Meta(mail.Message{From: bad, To: "birch"}); got["from"] != nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
