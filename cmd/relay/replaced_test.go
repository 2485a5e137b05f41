package relay

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/inbox/mail"
	"c2c/relay"
	"c2c/relay/cache"
	"c2c/sessions"
	"c2c/wake/watch"
)

// replace puts a new root with the session birch in the place of a project's root. The old root
// stays under another path. If removed is set, its sessions are gone, as in a root that somebody
// removes.
func (m *machine) replace(name string, removed bool) (anew *broker.Broker) {
	m.t.Helper()
	old := m.roots[name].Root()
	err := os.Rename(old, old+".old")
	if err == nil && removed {
		err = os.Remove(filepath.Join(old+".old", sessions.RegistryFileName))
	}
	if err != nil {
		m.t.Fatal(err)
	}
	delete(m.roots, name)
	return m.project(name, "birch")
}

func TestARootThatWasReplacedIsOpenedAnew(t *testing.T) {
	for name, removed := range map[string]bool{"moved away": false, "removed": true} {
		t.Run(name, func(t *testing.T) {
			laptop, devbox := twoMachines(t)
			here, there := laptop.project("site", "amber"), devbox.project("site", "birch")
			laptop.run()
			devbox.run()
			arrive := func(text string) {
				t.Helper()
				laptop.send(here, "amber", "birch@devbox", text, mail.Message{})
				if all := devbox.arrives(there, "birch", 1); all[0].Content != text {
					t.Errorf("%+v", all)
				}
				laptop.until(here, "the laptop has the receipt", func() bool { return laptop.host(here, "devbox").Waiting == 0 })
			}
			arrive("before")
			there = devbox.replace("site", removed)
			arrive("after")
			devbox.session(there, "elm")
			laptop.until(here, "the sessions of the new root are listed", func() bool { return laptop.knows(here, "devbox", "birch", "elm") })
			if told := laptop.waiting(here, "amber"); len(told) > 0 {
				t.Errorf("amber is told %+v", told)
			}
		})
	}
}

// The relay may have looked for replaced roots just before a root is replaced.
func TestNoMailIsRefusedBecauseItsRootWasReplaced(t *testing.T) {
	_, devbox := twoMachines(t)
	there := devbox.project("site")
	changes := watch.NewChanges()
	defer changes.Close()
	p := &post{b: there, h: &Host{Relay: devbox.r, list: devbox.r.Hosts(devbox.now), changes: changes, Getenv: devbox.getenv, Log: slog.New(slog.DiscardHandler)}}
	m := mail.Message{ID: "1", From: "amber@laptop", To: "birch", Content: "hello"}
	if why, err := p.Deliver(t.Context(), "laptop", "birch", []mail.Message{m}, false); why != relay.Unknown || err != nil {
		t.Fatalf("%q, %v", why, err)
	}
	devbox.replace("site", false)
	for _, to := range []string{"birch", "#review"} {
		if why, err := p.Deliver(t.Context(), "laptop", to, []mail.Message{m}, false); why != relay.Stored || err == nil {
			t.Errorf("mail to %s: %q, %v", to, why, err)
		}
	}
}

// While a relay has a root open, it would refuse mail for the sessions that have just moved.
func TestARootIsMergedOnlyWhenNoRelayHasItOpen(t *testing.T) {
	laptop, devbox := twoMachines(t)
	here := laptop.project("site", "amber")
	root := func(fp string) *broker.Broker {
		path := filepath.Join(devbox.home, ".c2c", "repos", fp, "broker")
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		cfg := broker.ConfigOf(devbox.getenv, path, nil)
		cfg.WantRelay = nil
		b, err := broker.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	from, into := root("aaaaaaaaaaaa"), root("bbbbbbbbbbbb")
	devbox.session(from, "birch")
	devbox.session(into, "cedar")
	if err := devbox.r.Hosts(devbox.now).NameProject(t.Context(), relay.NamedProject{Name: "site", Root: from.Root()}); err != nil {
		t.Fatal(err)
	}
	laptop.run()
	devbox.run()
	laptop.send(here, "amber", "birch@devbox", "before", mail.Message{})
	devbox.arrives(from, "birch", 1)
	if relayed, err := cache.IsRelayed(from.Dir()); err != nil || !relayed { // c2c project merge refuses such a root
		t.Fatal(relayed, err)
	}
	devbox.end()
	if relayed, err := cache.IsRelayed(from.Dir()); err != nil || relayed {
		t.Fatal(relayed, err)
	}
	if _, err := moves.TakeRoot(t.Context(), into.Registry, from.Registry, false); err != nil {
		t.Fatal(err)
	}
	devbox.run()
	laptop.send(here, "amber", "birch@devbox", "after", mail.Message{})
	devbox.arrives(into, "birch", 2)
	laptop.until(here, "the laptop has the receipts", func() bool { return laptop.host(here, "devbox").Waiting == 0 })
	if told := laptop.waiting(here, "amber"); len(told) > 0 {
		t.Errorf("amber is told %+v", told)
	}
}

// Both machines give the project another name, one after the other, while their relays run.
func TestMailGoesOnAfterAProjectGotAnotherName(t *testing.T) {
	laptop, devbox := twoMachines(t)
	here, there := laptop.project("site", "amber"), devbox.project("site", "birch")
	laptop.run()
	devbox.run()
	for n, name := range []string{"site", "web", "shop"} {
		for m, b := range map[*machine]*broker.Broker{laptop: here, devbox: there} {
			if err := m.r.Hosts(m.now).NameProject(t.Context(), relay.NamedProject{Name: name, Root: b.Root()}); err != nil {
				t.Fatal(err)
			}
		}
		laptop.send(here, "amber", "birch@devbox", name, mail.Message{})
		if all := devbox.arrives(there, "birch", n+1); all[n].Content != name {
			t.Errorf("%+v", all)
		}
		devbox.send(there, "birch", "amber@laptop", name, mail.Message{})
		laptop.arrives(here, "amber", n+1)
		laptop.until(here, "the laptop has the receipt", func() bool { return laptop.host(here, "devbox").Waiting == 0 })
	}
}
