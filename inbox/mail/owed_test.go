package mail

import (
	"strings"
	"testing"
)

// What follows from kind, tag and due is written for others, and never read back: it stands there
// once, and is right.
func TestWhatAMessageAsksForIsWrittenOnce(t *testing.T) {
	const asks = `"action_required":true,"reply_required":true,"bucket":"urgent"`
	m := Message{From: "amber", To: "birch", Content: "x", TS: 1, ID: "m", Kind: "question", Tag: "urgent", Due: 5}
	for range 3 {
		text, err := m.MarshalJSON()
		if err != nil || strings.Count(string(text), asks) != 1 || strings.Count(string(text), `"due":5.0`) != 1 {
			t.Fatalf("%s, %v", text, err)
		}
		if m = (Message{}); m.UnmarshalJSON(text) != nil || len(m.Extra) != 0 {
			t.Fatalf("%+v of %s", m, text)
		}
	}
	foreign := `{"from_alias":"a","to_alias":"b","content":"x","ts":1.0,"kind":"question","bucket":"sand","reply_required":false}`
	var other Message
	if err := other.UnmarshalJSON([]byte(foreign)); err != nil || len(other.Extra) != 2 {
		t.Errorf("%+v, %v: the fields of another program are lost", other, err)
	}
}

func TestWhoIsRung(t *testing.T) {
	for name, c := range map[string]struct {
		m    Message
		want bool
	}{
		"mail":             {Message{}, true},
		"deferrable":       {Message{Deferrable: true}, false},
		"notice":           {Message{From: SystemAlias, Kind: KindSystem, Deferrable: true}, false},
		"reminder":         {Message{From: SystemAlias, Kind: KindSystem}, true},
		"system of others": {Message{From: "amber", Kind: KindSystem}, false},
	} {
		if got := c.m.Rings(); got != c.want {
			t.Errorf("%s: rings %v", name, got)
		}
	}
}
