package relay

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
)

func testKey(f *testing.F) *Key {
	key, err := NewKey()
	if err != nil {
		f.Fatal(err)
	}
	return key
}

func FuzzParsePacket(f *testing.F) {
	key := testKey(f)
	packet, err := pack(Peers{Key: key}, Host{Name: "devbox", Key: key.Public()}, header{kind: Frame, project: "p-1", epoch: 1, number: 1, acked: 1, count: 1}, []byte("body"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packet)
	f.Add(packet[:fixedHeader])
	f.Fuzz(func(t *testing.T, packet []byte) {
		h, sealed, signed, signature, err := parse(packet)
		if err != nil {
			return
		}
		if len(h.project) > maxProject || h.count > maxCount || max(h.epoch, h.number, h.acked, h.maybeStored) > maxNumber {
			t.Errorf("out of bounds: %+v", h)
		}
		again := append(append(h.append(nil), sealed...), signature...)
		if string(again) != string(packet) || len(signed)+len(signature) != len(packet) {
			t.Error("a packet does not come back as it was")
		}
	})
}

func FuzzParseMessages(f *testing.F) {
	now := time.Unix(1e9, 0)
	m := mail.Message{From: "ash", To: "birch@devbox", Content: "hello", ID: "1", ExpiresAt: 2e9, GuardHops: 3, GuardChain: "c"}
	f.Add(appendMessages(nil, []mail.Message{m, m}, now), 2)
	f.Add([]byte{2, '{', '}', 0}, 1)
	f.Fuzz(func(t *testing.T, body []byte, count int) {
		msgs, err := parseMessages(body, min(max(count, 0), maxCount), "laptop", now)
		if err != nil {
			return
		}
		for _, m := range msgs {
			if m.why != Stored {
				continue
			}
			sender, ok := strings.CutSuffix(m.From, "@laptop")
			if !ok || mail.CheckAlias(sender) != nil || mail.CheckAlias(m.To) != nil || m.Check() != nil || !strings.HasPrefix(m.FromSession, "r-laptop.") {
				t.Errorf("%+v gets into a mailbox", m.Message)
			}
			if m.IsNotice() && m.From == mail.SystemAlias || len(m.Extra) > 0 || m.External {
				t.Errorf("%+v passes for what another host cannot send", m.Message)
			}
			line, err := m.MarshalJSON()
			var again mail.Message
			if err != nil || json.Unmarshal(line, &again) != nil || again.Content != m.Content || again.ID != m.ID {
				t.Errorf("a mailbox cannot keep %+v: %v", m.Message, err)
			}
		}
	})
}

func FuzzParseReceipt(f *testing.F) {
	f.Add([]byte(`[{"number":1,"why":"full"}]`))
	key := testKey(f)
	r := &Relay{Config: Config{Peers: Peers{Key: key}}}
	f.Fuzz(func(t *testing.T, body []byte) {
		h := header{kind: Receipt}
		copy(h.from[:], key.Public().SigningKey())
		sealed, err := key.Public().Seal(append(h.from[:len(h.from):len(h.from)], body...))
		if err != nil {
			t.Fatal(err)
		}
		rc, err := r.parseReceipt(h, sealed)
		if err != nil {
			return
		}
		for _, refused := range rc.refused {
			if text := refused.Why.Text(); !slices.Contains(slices.Collect(maps.Values(reasons)), text) {
				t.Errorf("a sender would be told %q", text)
			}
		}
	})
}

func FuzzReadState(f *testing.F) {
	f.Add([]byte(`{"epoch":1,"next":1,"link":"000102030405060708090a0b0c0d0e0f","doubt":0,"why":0,"last":{"session":"","from":"","id":""}}`))
	f.Add([]byte(`{"epoch":1,"number":1,"link":"000102030405060708090a0b0c0d0e0f","refused":[{"number":1,"why":"full"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h head
		if json.Unmarshal(data, &h) == nil && h.valid() {
			var again head
			if b, err := json.Marshal(h); err != nil || json.Unmarshal(b, &again) != nil || !reflect.DeepEqual(h, again) {
				t.Errorf("%+v does not come back: %+v", h, again)
			}
		}
		var hw highWater
		if json.Unmarshal(data, &hw) == nil && hw.valid() && (hw.Number > maxNumber || len(hw.Refused) > maxRefused) {
			t.Errorf("out of bounds: %+v", hw)
		}
	})
}

func TestAFieldThatIsNotThereTravelsAsNone(t *testing.T) {
	now := time.Unix(1e9, 0)
	in := mail.Message{From: "ash", To: "birch@devbox", Content: "hello", ID: "1", TS: 1e9}
	msgs, err := parseMessages(appendMessages(nil, []mail.Message{in}, now), 1, "laptop", now)
	want := mail.Message{From: "ash@laptop", FromSession: "r-laptop.alias-ash", To: "birch", Content: "hello", ID: "1", TS: 1e9}
	if err != nil || len(msgs) != 1 || !reflect.DeepEqual(msgs[0].Message, want) {
		t.Errorf("%+v arrives, %v", msgs, err)
	}
}

func TestSessionsOfTwoHostsNeverHaveOneName(t *testing.T) {
	long := strings.Repeat("s", 128)
	for _, two := range [][4]string{{"dev", "box-1", "dev-box", "1"}, {"dev", "box-" + long, "dev-box", long}, {"dev", "", "dev-alias", ""}} {
		if a, b := mail.RemoteSession(two[0], two[1], "ash"), mail.RemoteSession(two[2], two[3], "ash"); a == b || !mail.ValidName(a) || !mail.ValidName(b) {
			t.Errorf("%q: %s and %s", two, a, b)
		}
	}
}
