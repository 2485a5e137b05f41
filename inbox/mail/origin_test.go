package mail

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func external(t *testing.T, o Origin) Message {
	t.Helper()
	m := Message{From: "external-ci", To: "birch", Content: "build failed", ID: "01a20176-b0c6-7b2f-bda6-48e8cb101ab7", TS: 1795321200, External: true}
	if err := m.SetOrigin(o); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWhatIsSaidOfTheOutsideIsKept(t *testing.T) {
	want := Origin{ChatID: "-100:42", Identity: "a@b.c", Path: "/in/birch", Method: "POST"}
	m := external(t, Origin{ChatID: "other"})
	m.Due = 1795321300.5
	if err := m.SetOrigin(want); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(m)
	var again Message
	if err == nil {
		err = json.Unmarshal(data, &again)
	}
	if err != nil || !again.External || again.Due != m.Due || strings.Count(string(data), "chat_id") != 1 {
		t.Fatalf("%s: %+v %v", data, again, err)
	}
	if got, ok := again.Origin(); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestWordsThatCouldEndATagAreNoneOfTheOutside(t *testing.T) {
	long := strings.Repeat("x", 129)
	for _, o := range []Origin{{ChatID: `a" b="`}, {Path: "/<x>"}, {Identity: "a b"}, {Method: "POST\n"}, {ChatID: "ä"}, {ChatID: long}} {
		m := Message{External: true}
		if err := m.SetOrigin(o); err == nil || len(m.Extra) > 0 {
			t.Errorf("%.80v: %v", o, err)
		}
		data, _ := json.Marshal(o)
		m.Extra = []Field{{outsideField, data}} // another program may have written it
		if _, ok := m.Origin(); ok || m.OriginAttributes() != nil {
			t.Errorf("%.80v was read", o)
		}
	}
	m := Message{External: true, Extra: []Field{{outsideField, []byte(`[7]`)}}}
	if _, ok := m.Origin(); ok {
		t.Error("a list was read")
	}
}

func TestMailFromOutsideIsShownAsThat(t *testing.T) {
	m := external(t, Origin{ChatID: "42", Path: "/", Method: "POST", Identity: "dev"})
	want := `<c2c event="message" from="external-ci" by="outside" chat_id="42" identity="dev" path="/" method="POST" id="cb101ab7">` + "\nbuild failed\n</c2c>"
	if got := m.Envelope(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := m.Line(80); got != "external-ci (outside): build failed" {
		t.Error(got)
	}
	m.External = false // an agent that says something of the outside is not outside
	if got := m.Envelope(); strings.Contains(got, "outside\"") || strings.Contains(got, "chat_id") {
		t.Error(got)
	}
}

func TestThePrefaceSaysThatMailIsFromOutside(t *testing.T) {
	agent, person, outside := Message{From: "birch"}, Message{From: "dana", KnownBy: ByPerson}, Message{From: "external-ci", External: true}
	for _, c := range []struct {
		msgs                    []Message
		agents, person, outside bool
	}{
		{[]Message{outside}, false, false, true}, {[]Message{agent, outside}, true, false, true},
		{[]Message{person, outside}, false, true, true}, {[]Message{agent, person, outside}, true, true, true}, {[]Message{agent, person}, true, true, false},
	} {
		got := Preface(c.msgs)
		if strings.Contains(got, "other agents") != c.agents || strings.Contains(got, "person at another") != (c.person && !c.agents) ||
			strings.Contains(got, "from outside: ") != c.outside || strings.Contains(got, byOutside) != (c.outside && len(c.msgs) > 1) {
			t.Errorf("%+v: %s", c.msgs, got)
		}
	}
}
