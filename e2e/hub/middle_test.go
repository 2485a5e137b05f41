package hub

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	client "github.com/nats-io/nats.go"

	"c2c/e2e/machines"
	"c2c/relay/cache"
	"c2c/relay/nats"
	"c2c/relay/relaytest"
)

// corrupt makes a hub whose owner is hostile: what hosts send comes to this owner, who gives to
// each host what it likes.
func corrupt(t *testing.T, tamper *machines.Tamper, names ...string) *server {
	t.Helper()
	s := prepare(t, names...)
	seed, public, err := nats.NewSeed()
	if err != nil {
		t.Fatal(err)
	}
	s.seed["mallory"] = seed
	s.edit = func(config string) string {
		config = strings.ReplaceAll(config, "publish: { allow: [", `publish: { allow: ["taken.>", `)
		return strings.Replace(config, "users: [\n", `mappings: { "c2c.team.*.m.*": "taken.$1.m.$2", "c2c.team.*.p.*.*": "taken.$1.p.$2" }
users: [
  { nkey: `+public+" }\n", 1)
	}
	s.streams = func(all []nats.Stream) {
		for i := range all {
			all[i].Config.Subjects = []string{"given." + strings.TrimPrefix(all[i].Config.Name, "C2C_") + ".>"}
		}
	}
	s.configure()
	s.start()
	s.makeStreams()
	mallory := s.connect("mallory")
	t.Cleanup(mallory.Close)
	_, err = mallory.Subscribe("taken.>", func(m *client.Msg) {
		words := strings.Split(m.Subject, ".") // taken, to, m or p, from
		if m.Reply != "" {
			m.Respond([]byte(`{"stream":"C2C_` + words[1] + `","seq":1}`))
		}
		for _, packet := range tamper.Packet(words[1], m.Data) {
			for _, to := range names { // and to all others, too
				mallory.Publish("given."+to+".m."+words[3], packet)
			}
		}
	})
	if err == nil {
		err = mallory.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The owner of the hub drops, repeats, delays, changes, and swaps packets, and gives them to
// others.
func TestAHostileHubChangesAndReadsNothing(t *testing.T) {
	tamper := machines.NewTamper(1, 0.2)
	deeds := map[string]int{}
	tamper.Told = func(what string) { deeds[what]++ }
	s := corrupt(t, tamper, "laptop", "devbox", "other")
	laptop, devbox, other := relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "devbox"), relaytest.NewHost(t, "other")
	relaytest.Pair(laptop, devbox)
	relaytest.Pair(devbox, other)
	s.join(laptop, devbox, other)
	for _, h := range []*relaytest.Host{laptop, devbox, other} {
		h.Start()
	}
	const most, ahead = 200, 8
	for i := range most {
		for from, to := range map[*relaytest.Host]string{laptop: "devbox", devbox: "laptop"} {
			m := message(i)
			m.Content += " secret words"
			from.Send(to, m)
		}
		s.await("most of it arrives", func() bool { return has(t, devbox) > i-ahead && has(t, laptop) > i-ahead })
	}
	s.arrived(laptop, devbox, most)
	s.arrived(devbox, laptop, most)
	if n := has(t, other); n > 0 {
		t.Errorf("another host has %d messages", n)
	}
	for _, h := range []*relaytest.Host{laptop, devbox, other} {
		h.Stop()
		for _, peer := range []string{"laptop", "devbox", "other"} {
			if known, err := cache.HeardFrom(h.Root(), peer); err != nil || known.Trouble != "" {
				t.Errorf("%s is told %q, %v", h.Name, known.Trouble, err)
			}
		}
	}
	t.Logf("the hub did %v", deeds)
	for _, deed := range machines.Deeds {
		if deeds[deed] == 0 {
			t.Errorf("it did no %s", deed)
		}
	}
	words := []string{"secret words", "amber", "birch", "m-000"}
	for _, word := range words {
		for _, packet := range tamper.Seen() {
			if bytes.Contains(packet, []byte(word)) {
				t.Fatalf("a packet shows %q", word)
			}
		}
	}
	s.storesNone(words...)
}

// storesNone fails the test if a file of the server has one of these words.
func (s *server) storesNone(words ...string) {
	s.t.Helper()
	files := 0
	err := filepath.WalkDir(filepath.Join(s.dir, "jetstream"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for _, word := range words {
			if bytes.Contains(data, []byte(word)) {
				err = fmt.Errorf("%s has %q", path, word)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		s.t.Errorf("%d files, %v", files, err)
	}
}

func has(t *testing.T, h *relaytest.Host) int {
	t.Helper()
	all, err := h.Post.Mail("birch")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
