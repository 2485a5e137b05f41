package nats

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
)

// hub is one with two hosts.
func hub(t *testing.T) (h Hub, seeds map[string]string) {
	t.Helper()
	h, seeds = Hub{Fleet: "team", Listen: "127.0.0.1:4222", URL: "nats://127.0.0.1:4222"}, map[string]string{}
	for _, name := range []string{"", "laptop", "devbox"} {
		seed, public, err := NewSeed()
		if err != nil {
			t.Fatal(err)
		}
		if seeds[name] = seed; name == "" {
			h.Owner = public
		} else {
			h.Hosts = append(h.Hosts, Member{name, public})
		}
	}
	return h, seeds
}

func TestAnAccessIsReadAsItWasWritten(t *testing.T) {
	h, seeds := hub(t)
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"", "laptop"} {
		want := h.Access(host, seeds[host])
		text, err := want.Text()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseAccess(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}

func TestAnAccessThatCannotBeIsRefusedAndItsSeedNotTold(t *testing.T) {
	h, seeds := hub(t)
	for what, change := range map[string]func(*Access){
		"no fleet":          func(a *Access) { a.Fleet = "" },
		"a wildcard":        func(a *Access) { a.Fleet = "*" },
		"not of it":         func(a *Access) { a.Host = "other" },
		"a name with dot":   func(a *Access) { a.Hosts = append(a.Hosts, "a.b") },
		"a password":        func(a *Access) { a.URL = "nats://me:secret@127.0.0.1:4222" },
		"no hub":            func(a *Access) { a.URL = "http://127.0.0.1" },
		"no seed":           func(a *Access) { a.Seed = "" },
		"half a seed":       func(a *Access) { a.Seed = a.Seed[:20] },
		"a public nkey":     func(a *Access) { a.Seed = h.Owner },
		"not a certificate": func(a *Access) { a.CA = "x" },
	} {
		a := h.Access("laptop", seeds["laptop"])
		change(&a)
		text, err := a.Text()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseAccess(text); err == nil {
			t.Errorf("%s: it is taken", what)
		} else if strings.Contains(err.Error(), seeds["laptop"][:20]) || strings.Contains(err.Error(), "secret") && what != "a password" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAHubMayHaveSeveralNodes(t *testing.T) {
	for url, good := range map[string]bool{"tls://a:4222": true, "tls://a:4222,tls://b:4222,tls://c": true, "tls://a,": false, ",": false, "tls://a,http://b": false} {
		if err := CheckURL(url); (err == nil) != good {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestAHubThatCannotBeIsRefused(t *testing.T) {
	for what, change := range map[string]func(*Hub){
		"no fleet":          func(h *Hub) { h.Fleet = "" },
		"a quote":           func(h *Hub) { h.Listen = "a\"b" },
		"no port":           func(h *Hub) { h.Listen = "127.0.0.1" },
		"no hub":            func(h *Hub) { h.URL = "127.0.0.1:4222" },
		"no key":            func(h *Hub) { h.Hosts[1].Key = "U}" },
		"a name of two":     func(h *Hub) { h.Hosts[1].Name = "a b" },
		"not a certificate": func(h *Hub) { h.CA = "x" },
	} {
		h, _ := hub(t)
		if change(&h); h.Check() == nil {
			t.Errorf("%s: it is taken", what)
		}
	}
}

// The server refuses a stream when all that it has made may need more than its disk has.
func TestTheStreamsOfAnyFleetFitOnADisk(t *testing.T) {
	for _, c := range []struct{ hosts, mb int64 }{{2, 256}, {64, 256}, {500, 32}, {1000, 16}, {2000, 16}} {
		all := Hub{Fleet: "team", Hosts: make([]Member, c.hosts)}.Streams()
		if got := all[c.hosts-1].Config.MaxBytes >> 20; got != c.mb {
			t.Errorf("%d hosts: %d MiB each, want %d", c.hosts, got, c.mb)
		}
	}
}

// What the server is told has no secret, and gives each host its own subjects alone.
func TestTheServerLearnsNoSecret(t *testing.T) {
	h, seeds := hub(t)
	text := h.HostsConfig() + h.ServerConfig("/srv/hub", seeds[""])["nats-server.conf"]
	streams, err := json.Marshal(h.Streams())
	if err != nil {
		t.Fatal(err)
	}
	for name, seed := range seeds {
		if strings.Contains(text+string(streams), seed) {
			t.Errorf("the seed of %q is told", name)
		}
	}
	for _, want := range []string{"sync_interval: always", `store_dir: "/srv/hub/jetstream"`, `"c2c.team.*.m.laptop"`, `"$JS.ACK.C2C_devbox.relay.>"`, h.Owner} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// silent is a relay.Handler that does nothing.
type silent struct{}

func (silent) Packet(context.Context, []byte) error { return nil }
func (silent) Link(string, bool)                    {}

// What the hub says of packets without messages tells nothing of those with messages, once it has
// refused one. While the link pauses, only packets are answered that were sent before.
func TestOnlyMailShowsThatMailIsTakenAgain(t *testing.T) {
	const fine, full = `{"stream":"C2C_devbox","seq":1}`, `{"error":{"code":503,"description":"maximum bytes exceeded"}}`
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type answer struct {
		at      int // seconds since the beginning
		hasMail bool
		data    string // "" stands for an answer of a hub without a stream
	}
	for what, c := range map[string]struct {
		answers []answer
		err     string
		since   int
	}{
		"all is stored":                 {[]answer{{1, true, fine}, {2, false, fine}}, "", 0},
		"mail is refused":               {[]answer{{1, true, full}, {9, false, fine}}, "maximum bytes", 1},
		"mail is stored again":          {[]answer{{1, true, full}, {9, true, fine}}, "", 9},
		"a hello is refused":            {[]answer{{1, false, full}}, "maximum bytes", 1},
		"a hello is stored again":       {[]answer{{1, false, full}, {9, false, fine}}, "", 9},
		"both are refused":              {[]answer{{1, false, full}, {1, true, full}, {9, false, fine}}, "maximum bytes", 1},
		"both, one after the other":     {[]answer{{1, true, full}, {9, false, full}, {19, false, fine}}, "maximum bytes", 1},
		"small mail of the same moment": {[]answer{{1, true, full}, {1, true, fine}}, "maximum bytes", 1},
		"there was no stream":           {[]answer{{1, true, ""}, {9, false, fine}}, "", 9},
	} {
		now := began
		a := Access{Fleet: "team", Host: "laptop", Hosts: []string{"laptop", "devbox"}}
		carrier := New(Config{Access: a, Peers: func() []string { return []string{"devbox"} }, Now: func() time.Time { return now }})
		carrier.linked(0, "")
		carrier.tell(silent{})
		for _, one := range c.answers {
			now = began.Add(time.Duration(one.at) * time.Second)
			carrier.tell(silent{})
			m := client.NewMsg(a.answer(map[bool]int{true: 1}[one.hasMail], "devbox"))
			if m.Data = []byte(one.data); one.data == "" {
				m.Header.Set("Status", "503")
			}
			carrier.stored(m)
			carrier.tell(silent{})
		}
		now = now.Add(lastPause)
		carrier.tell(silent{})
		st := carrier.Status()[0]
		if st.Up != (c.err == "") || !strings.Contains(st.Error, c.err) || c.err == "" && st.Error != "" || !st.Since.Equal(began.Add(time.Duration(c.since)*time.Second)) {
			t.Errorf("%s: %+v, want the error %q since second %d", what, st, c.err, c.since)
		}
	}
}

// The NATS client may tell the end of a connection late, when the carrier runs again.
func TestTheEndOfAFormerConnectionIsNotTheEndOfThisOne(t *testing.T) {
	carrier := New(Config{Access: Access{Fleet: "team", Host: "laptop"}, Peers: func() []string { return []string{"devbox"} }, Now: time.Now})
	carrier.runs = 2
	carrier.linked(2, "")
	carrier.linked(1, "closed")
	carrier.tell(silent{})
	if st := carrier.Status()[0]; !st.Up {
		t.Errorf("%+v", st)
	}
}
