package mail

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheEnvelopeSaysHowTheSenderIsKnown(t *testing.T) {
	for want, m := range map[string]Message{
		`from="birch" by="process" id="m-1">`:                    {KnownBy: ByProcess},
		`from="birch" by="claimed" id="m-1" started_by="amber">`: {KnownBy: ByClaim, StartedBy: "amber"},
		`from="birch" by="host" id="m-1">`:                       {KnownBy: ByHost, FromPerson: true},
		`from="birch" by="outside" id="m-1">`:                    {KnownBy: ByProcess, External: true},
		`from="birch" id="m-1">`:                                 {KnownBy: `process" x="`, StartedBy: "a b", FromPerson: true},
		`from="birch" by="person" id="m-1" tag="urgent">`:        {KnownBy: ByPerson, Tag: "urgent"},
	} {
		m.From, m.ID = "birch", "m-1"
		if got, _, _ := strings.Cut(m.Envelope(), "\n"); got != EnvelopeStart+" "+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestTheWordIsKeptAndAnUnknownOneIsNotShown(t *testing.T) {
	for _, word := range []string{ByProcess, "oath", ""} {
		m := Message{From: "birch", To: "amber", KnownBy: word, StartedBy: "cedar"}
		data, err := json.Marshal(m)
		var back Message
		if err != nil || json.Unmarshal(data, &back) != nil || back.KnownBy != word || back.StartedBy != "cedar" || (By(back) != "") != (word == ByProcess) {
			t.Errorf("%s: %+v, %v", data, back, err)
		}
	}
}

func TestThePrefaceSaysHowSendersAreKnown(t *testing.T) {
	process, claimed, unknown := Message{KnownBy: ByProcess}, Message{KnownBy: ByClaim}, Message{}
	for _, c := range []struct {
		msgs []Message
		want string // p: process, c: claimed, u: unknown
	}{{[]Message{process}, "p"}, {[]Message{claimed}, "c"}, {[]Message{unknown, process}, "pu"}, {[]Message{process, claimed, unknown}, "pcu"},
		{[]Message{{KnownBy: ByPerson}}, ""}, {[]Message{{From: SystemAlias}}, ""}, {nil, ""}} {
		got, has := Preface(c.msgs), ""
		for word, says := range map[string]string{"p": "sender checked", "c": "only the name says so", "u": "does not know who wrote"} {
			if strings.Contains(got, says) != strings.Contains(c.want, word) {
				has += word
			}
		}
		if has != "" || !strings.HasPrefix(got, PrefaceStart) {
			t.Errorf("%s: %s", c.want, got)
		}
	}
}

func TestALineMarksAClaim(t *testing.T) {
	m := Message{From: "birch", Content: "hi", KnownBy: ByClaim}
	if got := m.Line(40); got != "birch (claimed): hi" {
		t.Error(got)
	}
}
