package nats

import (
	"context"
	"encoding/json"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
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
		"a name twice":      func(h *Hub) { h.Hosts[1].Name = h.Hosts[0].Name },
		"a key twice":       func(h *Hub) { h.Hosts[1].Key = h.Owner },
		"no key":            func(h *Hub) { h.Hosts[1].Key = "U}" },
		"a name of two":     func(h *Hub) { h.Hosts[1].Name = "a b" },
		"not a certificate": func(h *Hub) { h.CA = "x" },
		"an empty owner":    func(h *Hub) { h.Owner = "" },
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
	text := h.ServerConfig("/srv/hub")
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

// A hub that takes connections and says nothing, as one that was stopped, keeps no host from ending.
func TestRunEndsThoughTheHubSaysNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h, seeds := hub(t)
	a := h.Access("laptop", seeds["laptop"])
	a.URL = "nats://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- New(Config{Access: a, Peers: func() []string { return nil }, Now: time.Now}).Run(ctx, nil)
	}()
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second): // half of the time that c2c relay stop waits
		t.Error("it does not end")
	}
}
