package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"c2c/relay"
	"c2c/relay/nats"
	"c2c/relay/relaytest"
)

// Both hosts change from ssh to the hub and back, each at another time, while mail is under way on
// both.
func TestAHostThatChangesItsWayInMidStreamDoublesAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "devbox")
		relaytest.Pair(a, b)
		ways := map[*relaytest.Host]map[string]carrier{a: {}, b: {}}
		for i, kind := range []string{relay.SSH, relay.NATS} {
			net := relaytest.NewNet(uint64(i))
			net.Lose, net.Repeat, net.Reorder = 0.05, 0.1, 0.3
			for _, h := range []*relaytest.Host{a, b} {
				net.Join(h)
				ways[h][kind] = unseen{h.Carrier}
			}
		}
		change := map[*relaytest.Host]func(kind string){}
		for _, h := range []*relaytest.Host{a, b} {
			c := &carriers{list: h.List, ways: ways[h], log: slog.New(slog.DiscardHandler)}
			h.Carrier = c
			peer := map[*relaytest.Host]string{a: "devbox", b: "laptop"}[h]
			change[h] = func(kind string) {
				row, err := h.List.ByName(peer)
				if err != nil {
					t.Fatal(err)
				}
				row.Carrier = kind
				if err := h.List.Add(context.Background(), row); err != nil {
					t.Fatal(err)
				}
				c.reload()
			}
		}
		a.Start()
		b.Start()
		const rounds, each = 12, 150
		for n := range rounds {
			a.SendMany("devbox", "ash", "birch", n*each, (n+1)*each)
			b.SendMany("laptop", "oak", "cedar", n*each, (n+1)*each)
			time.Sleep(time.Duration(n) * time.Millisecond)
			kind := []string{relay.NATS, relay.SSH}[n/2%2]
			change[[]*relaytest.Host{a, b}[n%2]](kind)
		}
		for range 100_000 {
			if synctest.Wait(); a.Drained("devbox") && b.Drained("laptop") {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		a.Stop()
		b.Stop()
		b.CheckOnce("birch", "ash", rounds*each)
		a.CheckOnce("cedar", "oak", rounds*each)
	})
}

// person runs c2c relay as a person does.
func person(t *testing.T, home string, args ...string) (string, error) {
	t.Helper()
	t.Setenv("HOME", home) // of a daemon that it starts
	var out bytes.Buffer
	p := Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Cwd: home, Log: slog.New(slog.DiscardHandler),
		Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }, Person: func(context.Context, string) error { return nil }}
	err := Run(t.Context(), p, args)
	return out.String(), err
}

const hubConfig = "nats-server.conf"

func TestAHubIsWrittenAndGrows(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "c2c-hub-team")
	write := func(args ...string) (hub nats.Hub) {
		t.Helper()
		if out, err := person(t, home, append([]string{"hub", "team"}, args...)...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		data, err := os.ReadFile(filepath.Join(dir, hubFile))
		if err == nil {
			err = json.Unmarshal(data, &hub)
		}
		if err != nil {
			t.Fatal(err)
		}
		return hub
	}
	if out, err := person(t, home, "hub", "team"); err == nil {
		t.Errorf("a hub without hosts: %s", out)
	} else if _, err := os.Stat(dir); err == nil {
		t.Error("nothing was to be written, but the directory is there")
	}
	first := write("--hosts", "laptop,devbox", "--listen", "127.0.0.1:4999")
	if err := os.Remove(filepath.Join(dir, hubHost("devbox"))); err != nil { // it was given to its host
		t.Fatal(err)
	}
	second := write("--hosts", "other")
	if len(second.Hosts) != 3 || !slices.Equal(second.Hosts[:2], first.Hosts) || second.Owner != first.Owner || second.URL != "nats://127.0.0.1:4999" {
		t.Errorf("%+v became %+v", first, second)
	}
	for name, there := range map[string]bool{hubConfig: true, nats.HostsFile: true, hubOwner: true, hubHost("laptop"): true, hubHost("other"): true, hubHost("devbox"): false} {
		info, err := os.Stat(filepath.Join(dir, name))
		if there != (err == nil) {
			t.Errorf("%s: %v", name, err)
		} else if there && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	if out, err := person(t, home, "hub", "team", "--ca", filepath.Join(dir, hubConfig)); err == nil {
		t.Errorf("a configuration is taken for a certificate: %s", out)
	}
	data, err := os.ReadFile(filepath.Join(dir, hubHost("laptop")))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := nats.ParseAccess(data); err != nil || !slices.Equal(a.Hosts, []string{"laptop", "devbox", "other"}) {
		t.Errorf("%+v, %v", a.Hosts, err)
	}
}

// The owner has filled in a certificate, and has removed a machine. Then another machine is added.
func TestTheServersConfigurationBelongsToTheOwner(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "c2c-hub-team")
	do := func(args ...string) string {
		t.Helper()
		out, err := person(t, home, append([]string{"hub"}, args...)...)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	do("team", "--hosts", "laptop,devbox,lost")
	config := read(hubConfig) + "tls { cert_file: /cert.pem, key_file: /key.pem }\n"
	if err := os.WriteFile(filepath.Join(dir, hubConfig), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	do("remove", "c2c-hub-team", "lost")
	do("team", "--hosts", "other")
	if now := read(hubConfig); now != config {
		t.Errorf("the configuration of the server was changed:\n%s", now)
	}
	for _, name := range []string{nats.HostsFile, hubFile, hubHost("laptop")} {
		if text := read(name); strings.Contains(text, "lost") || !strings.Contains(text, "other") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, hubHost("lost"))); err == nil {
		t.Error("the file of the removed host is still there")
	}
	for _, wrong := range [][]string{{"remove", "c2c-hub-team", "lost"}, {"remove", "elsewhere", "laptop"}, {"team", "--listen", "0.0.0.0:4222"}} {
		if out, err := person(t, home, append([]string{"hub"}, wrong...)...); err == nil {
			t.Errorf("%q: %s", wrong, out)
		}
	}
}

func TestAHostThatJoinsAHubReachesThePairedHostsOfTheFleetByIt(t *testing.T) {
	home := t.TempDir()
	if out, err := person(t, home, "hub", "team", "--hosts", "laptop,devbox"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, err := Open(func(name string) string { return map[string]string{"HOME": home}[name] }, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.End(t.Context(), true); err != nil { // join starts none then
		t.Fatal(err)
	}
	list := r.Hosts(time.Now)
	for _, name := range []string{"devbox", "elsewhere"} {
		if err := list.Add(t.Context(), relay.Host{Name: name, Carrier: relay.SSH, Dest: "me@" + name, Key: public(t)}); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := person(t, home, "hub", "join", "c2c-hub-team/"+hubOwner, "--yes"); err == nil {
		t.Errorf("the owner's file is taken: %s", out)
	}
	if out, err := person(t, home, "hub", "join", "c2c-hub-team/"+hubHost("laptop")); err == nil {
		t.Errorf("nobody has said yes: %s", out)
	}
	out, err := person(t, home, "hub", "join", "c2c-hub-team/"+hubHost("laptop"), "--yes")
	if err != nil || !strings.Contains(out, "devbox") || strings.Contains(out, "elsewhere") {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{"devbox": relay.NATS, "elsewhere": relay.SSH} {
		if h, err := list.ByName(name); err != nil || h.Carrier != want {
			t.Errorf("%s goes by %q, %v", name, h.Carrier, err)
		}
	}
	if a, err := r.hub(); err != nil || a.Host != "laptop" {
		t.Errorf("%+v, %v", a.Host, err)
	}
}

// unseen is a carrier of whose links nothing is shown.
type unseen struct{ relay.Carrier }

func (unseen) Status() []relay.LinkStatus { return nil }
func (unseen) Reload()                    {}
