package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/mcp/tools"
	"c2c/rooms"
)

// listed are the names that tools/list shows to a client.
func (c testClient) listed() string {
	c.t.Helper()
	input := rpcMessage(0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+c.name+`","version":"0"}}`) +
		rpcMessage(1, "tools/list", `{}`)
	for _, r := range exchange(c.t, tools.New(c.config()), input) {
		if r.ID == nil || *r.ID != 1 {
			continue
		}
		var list mcp.ListToolsResult
		if err := json.Unmarshal(r.Result, &list); err != nil {
			c.t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return strings.Join(names, " ")
	}
	c.t.Fatal("no list")
	return ""
}

// A running client reads the list once, and rooms may come later.
func TestTheListOfToolsNeverChanges(t *testing.T) {
	t.Parallel()
	amber, birch := pair(t)
	want := birch.listed()
	amber.want("room", `{"name":"review","do":"join"}`)
	if names := birch.listed(); names != want {
		t.Errorf("without rooms: %s; with a room: %s", want, names)
	}
}

func TestARoomByTools(t *testing.T) {
	t.Parallel()
	amber, birch := pair(t)
	if got := amber.want("join_room", `{"room_id":"review","alias":"amber"}`); got != `{"room_id":"review","member_count":1}` {
		t.Error(got)
	}
	if got := amber.want("send_room", `{"room_id":"review","content":"the build is green"}`); !strings.HasPrefix(got, `{"queued":true,"to_alias":"#review","message_id":`) || !strings.Contains(got, `"wakes":[]`) {
		t.Error(got)
	}
	// Who joins sees old posts when it asks, marked.
	got := birch.want("join_room", `{"room_id":"#review","history_limit":20}`)
	if !strings.Contains(got, `"content":"the build is green"`) || !strings.Contains(got, `"old":true`) {
		t.Error(got)
	}
	if texts, _ := birch.call("poll_inbox", `{}`); texts[0] != "[]" || len(texts) > 1 {
		t.Errorf("%q", texts)
	}
	amber.want("send_room", `{"room_id":"review","content":"the build is red"}`)
	if got := amber.want("send", `{"to_alias":"#review","content":"@birch, look"}`); !strings.Contains(got, `"wakes":[],"waits":["birch"]`) {
		t.Error(got)
	}
	texts, _ := birch.call("poll_inbox", `{}`)
	if len(texts) != 2 || !strings.Contains(texts[0], `"to_alias":"birch#review"`) || !strings.Contains(texts[1], `<c2c event="rooms" from="others" authority="none">`) || !strings.Contains(texts[1], "red") {
		t.Errorf("%q", texts)
	}
	if texts, _ := birch.call("poll_inbox", `{}`); texts[0] != "[]" || len(texts) > 1 {
		t.Errorf("again: %q", texts)
	}
	if got := birch.want("reply", fmt.Sprintf(`{"message_id":%q,"content":"done"}`, fields(t, texts[0])["message_id"])); !strings.Contains(got, `"wakes":[],"waits":["amber"]`) || !strings.Contains(got, `"to_alias":"#review"`) {
		t.Error(got)
	}
	var posts []struct {
		From    string `json:"from_alias"`
		Content string
		TS      float64
	}
	if err := json.Unmarshal([]byte(birch.want("room_history", `{"room_id":"review","limit":2,"since":1}`)), &posts); err != nil || len(posts) != 2 || posts[1].Content != "done" || posts[1].From != "birch" || posts[1].TS == 0 {
		t.Errorf("%+v %v", posts, err)
	}
	for _, tool := range []string{"list_rooms", "my_rooms"} {
		if got := birch.want(tool, `{}`); !strings.HasPrefix(got, `[{"room_id":"review","member_count":2,"members":["amber","birch"],"alive_member_count":`) {
			t.Errorf("%s: %s", tool, got)
		}
	}
	amber.refused("send_room", `{"room_id":"review","content":"@all, stop"}`, "reason")
	amber.refused("send_room", `{"room_id":"../x","content":"x"}`, "A-Z")
	amber.refused("send_room", `{"room_id":"other","content":"x"}`, "no such room")
	if got := birch.want("leave_room", `{"room_id":"review"}`); got != `{"room_id":"review","member_count":1}` {
		t.Error(got)
	}
	birch.refused("send_room", `{"room_id":"review","content":"x"}`, "not in the room")
	if got := amber.want("send_room_invite", `{"room_id":"review","invitee_alias":"birch"}`); !strings.Contains(got, `"invitee_alias":"birch","member":true`) {
		t.Error(got)
	}
}

// Another machine decides who is in its room: until then who asks sees no post of the copy here.
func TestWhoAsksToJoinReadsNothingYet(t *testing.T) {
	t.Parallel()
	amber, birch := pair(t)
	amber.want("join_room", `{"room_id":"den@devbox"}`)
	b, err := broker.Open(broker.Config{Root: amber.root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	den, err := rooms.StoreOf(b.Registry).Open("den@devbox")
	if err != nil {
		t.Fatal(err)
	}
	defer den.Close()
	if err := den.AddCopies(t.Context(), []rooms.Post{{ID: mail.NewID(time.Now()), From: "cedar", Content: "only for members", TS: mail.Seconds(time.Now())}}, false); err != nil {
		t.Fatal(err)
	}
	if got := birch.want("room", `{"name":"den@devbox","do":"join","history":20}`); got != `{"room_id":"den@devbox","member_count":0,"asked":true}` {
		t.Error(got)
	}
	birch.refused("look", `{"at":"posts","of":"den@devbox"}`, "not in the room")
}

func TestAServerJoinsItsRoomsByItself(t *testing.T) {
	t.Parallel()
	amber, birch := pair(t)
	birch.env = map[string]string{"C2C_MCP_AUTO_JOIN_ROOMS": "swarm-lounge, review"}
	birch.want("whoami", `{}`) // it looks, and joins nothing
	birch.want("poll_inbox", `{}`)
	if got := amber.want("list_rooms", `{}`); strings.Count(got, `"members":["birch"]`) != 2 {
		t.Error(got)
	}
}

// A long room does not fill an answer.
func TestAHistoryFitsAnAnswer(t *testing.T) {
	t.Parallel()
	amber, _ := pair(t)
	amber.want("join_room", `{"room_id":"review"}`)
	for i := range 30 {
		amber.want("send_room", fmt.Sprintf(`{"room_id":"review","content":"%d %s"}`, i, strings.Repeat("x", 5000)))
	}
	amber.want("send_room", fmt.Sprintf(`{"room_id":"review","content":"last %s"}`, strings.Repeat("x", 60_000)))
	texts, _ := amber.call("room_history", `{"room_id":"review"}`)
	if len(strings.Join(texts, "")) > 40_000 || !strings.Contains(texts[0], "last") || !strings.Contains(texts[1], "30 older posts were left out") {
		t.Errorf("%d bytes, %.200q %q", len(texts[0]), texts[0], texts[1:])
	}
}
