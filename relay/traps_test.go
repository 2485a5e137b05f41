package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/relay"
	"c2c/relay/cache"
	"c2c/relay/relaytest"
)

// send sends messages with the numbers from first up to last of ash at a to birch at b.
func send(h *relaytest.Host, peer string, first, last int) {
	var msgs []mail.Message
	for n := first; n <= last; n++ {
		msgs = append(msgs, message("ash", "birch", n))
	}
	h.Send(peer, msgs...)
}

func trouble(t *testing.T, h *relaytest.Host, peer string) string {
	t.Helper()
	host, err := cache.HeardFrom(h.Root(), peer)
	if err != nil {
		t.Fatal(err)
	}
	return host.Trouble
}

func wantTrouble(t *testing.T, h *relaytest.Host, peer, part string) {
	t.Helper()
	if words := trouble(t, h, peer); !strings.Contains(words, part) {
		t.Errorf("at %s people are told of %s %q, want %q in it", h.Name, peer, words, part)
	}
}

// both starts two hosts and waits until the mail of a is stored.
func delivered(t *testing.T, a, b *relaytest.Host) {
	t.Helper()
	a.Start()
	b.Start()
	wait(t, "drained", func() bool { return a.Drained(b.Name) })
	a.Stop()
	b.Stop()
}

func TestADeletedOutboxSwallowsNothing(t *testing.T) {
	for _, what := range []string{"relay", "."} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, a, b := pair(t, 1)
				send(a, "devbox", 0, 99)
				delivered(t, a, b)
				time.Sleep(time.Second)
				if err := os.RemoveAll(filepath.Join(a.Home, "root", what)); err != nil && what != "." {
					t.Fatal(err)
				}
				if what == "." {
					if err := os.RemoveAll(filepath.Join(a.Home, "root")); err != nil {
						t.Fatal(err)
					}
					a = a.Copy()
				}
				send(a, "devbox", 100, 249)
				delivered(t, a, b)
				checkOnce(t, b, "birch", "ash", 250)
				wantTrouble(t, a, "devbox", "lost its record")
				wantTrouble(t, b, "laptop", "lost its record")
			})
		})
	}
}

// The epoch of a host whose clock was set back, and whose record is lost, is lower than before.
func TestALostRecordAndAClockSetBackSwallowNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		send(a, "devbox", 0, 9)
		delivered(t, a, b)
		if err := os.RemoveAll(filepath.Join(a.Home, "root", "relay")); err != nil {
			t.Fatal(err)
		}
		a.Now = func() time.Time { return time.Now().Add(-48 * time.Hour) }
		send(a, "devbox", 10, 12) // fewer than before
		delivered(t, a, b)
		checkOnce(t, b, "birch", "ash", 13)
		wantTrouble(t, a, "devbox", "numbered anew")
		wantTrouble(t, b, "laptop", "numbers its mail anew")
	})
}

func TestARestoredReceiverIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		send(a, "devbox", 0, 9)
		delivered(t, a, b)
		backup := b.Copy()
		send(a, "devbox", 10, 19)
		delivered(t, a, b)
		send(a, "devbox", 20, 29)
		net.Join(backup)
		var seen [][]byte
		net.Tamper = func(_, to string, packet []byte) [][]byte {
			if to == "laptop" {
				seen = append(seen, packet)
			}
			return [][]byte{packet}
		}
		delivered(t, a, backup)
		if got := ids(t, backup, "birch"); len(got) != 20 || got[19] != "ash-29" || got[10] != "ash-20" {
			t.Errorf("the restored host has %q: want the first ten and the last ten", got)
		}
		wantTrouble(t, a, "devbox", "restored from a backup")
		wantTrouble(t, backup, "laptop", "this host knew less")
		head := func() string {
			data, err := os.ReadFile(filepath.Join(a.Home, "root", "relay", "devbox.head.json"))
			if err != nil {
				t.Fatal(err)
			}
			epoch, _, _ := strings.Cut(string(data), ",")
			return epoch
		}
		before := head()
		a.Start()
		for _, packet := range seen { // whoever replays what was said then begins no new epoch
			a.Relay.Packet(t.Context(), packet)
			time.Sleep(2 * time.Second)
		}
		a.Stop()
		if after := head(); after != before {
			t.Errorf("replayed receipts have changed the epoch from %s to %s", before, after)
		}
	})
}

func TestARestoredSenderDoublesAndSwallowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		send(a, "devbox", 0, 9)
		delivered(t, a, b)
		send(a, "devbox", 10, 19)
		backup := a.Copy() // has 10 to 19 in its outbox, as a has
		send(a, "devbox", 20, 29)
		a.Start()
		b.Start() // and runs on
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		a.Stop()
		net.Join(backup)
		send(backup, "devbox", 30, 39)
		backup.Start()
		wait(t, "drained", func() bool { return backup.Drained("devbox") })
		backup.Stop()
		b.Stop()
		checkOnce(t, b, "birch", "ash", 40)
		wantTrouble(t, backup, "devbox", "two machines use this host's key")
		wantTrouble(t, b, "laptop", "two machines use its key")
	})
}

func TestTwoHostsWithOneKeyAreNoticedAndLoseNothing(t *testing.T) {
	for _, more := range []int{-5, 0, 1} { // than the other one the first host sends first
		t.Run(fmt.Sprint(more), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net, a, b := pair(t, 1)
				send(a, "devbox", 0, 4)
				delivered(t, a, b)
				twin := a.Copy()
				for round := range 6 {
					h, sender, count := a, "elm", 10+more
					if round%2 == 1 {
						h, sender, count = twin, "oak", 10
					}
					net.Join(h)
					for i := range count {
						h.Send("devbox", message(sender, "cedar", round/2*count+i))
					}
					delivered(t, h, b)
				}
				checkOnce(t, b, "cedar", "elm", 3*(10+more))
				checkOnce(t, b, "cedar", "oak", 30)
				wantTrouble(t, twin, "devbox", "two machines use this host's key")
				wantTrouble(t, b, "laptop", "two machines use its key")
			})
		})
	}
}

// A man in the middle drops, repeats, delays, changes and swaps.
func TestAManInTheMiddleChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 7)
		var seen [][]byte
		chance := rand.New(rand.NewPCG(1, 1))
		net.Tamper = func(from, to string, packet []byte) [][]byte {
			n := chance.IntN(1 << 30)
			seen = append(seen, packet)
			switch n % 7 {
			case 0: // drop
				return nil
			case 1: // replay
				return [][]byte{packet, seen[n/31%len(seen)], seen[n/17%len(seen)]}
			case 2: // flip
				bad := slices.Clone(packet)
				bad[n/131%len(bad)] ^= 1 << (n / 7 % 8)
				return [][]byte{bad}
			case 3: // swap with another
				return [][]byte{seen[n/7%len(seen)], packet}
			case 4: // halves of two
				other := seen[len(seen)/3]
				return [][]byte{append(slices.Clone(packet[:len(packet)/2]), other[len(other)/2:]...), packet}
			}
			return [][]byte{packet}
		}
		a.Start()
		b.Start()
		for first := 0; first < 600; first += 20 {
			send(a, "devbox", first, first+19)
			b.Send("laptop", message("oak", "cedar", first/20))
			time.Sleep(3 * time.Second)
		}
		wait(t, "drained", func() bool { return a.Drained("devbox") && b.Drained("laptop") })
		a.Stop()
		b.Stop()
		checkOnce(t, b, "birch", "ash", 600)
		checkOnce(t, a, "cedar", "oak", 30)
		for _, words := range []string{trouble(t, a, "devbox"), trouble(t, b, "laptop")} {
			if words != "" {
				t.Errorf("people are told %q", words)
			}
		}
		for _, packet := range seen {
			if bytes.Contains(packet, []byte("s-ash")) || bytes.Contains(packet, []byte("birch")) {
				t.Error("a packet shows an alias to the carrier")
			}
		}
	})
}

// A third host, which both know, takes the sealed body out of a packet and signs it as its own.
func TestNobodyPassesOnAnothersBodyAsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		c := relaytest.NewHost(t, "mallory")
		relaytest.Pair(b, c)
		var stolen []byte
		net.Tamper = func(from, to string, packet []byte) [][]byte {
			if from == "laptop" && stolen == nil {
				if l, _ := relay.LabelOf(packet); l.Kind == relay.Frame {
					stolen = slices.Clone(packet)
				}
			}
			return [][]byte{packet}
		}
		send(a, "devbox", 0, 0)
		delivered(t, a, b)
		forged := slices.Clone(stolen[:len(stolen)-64])
		copy(forged[6:], c.Key.Public().SigningKey())
		forged = append(forged, c.Key.Sign(forged)...)
		b.Start()
		if err := b.Relay.Packet(t.Context(), forged); err != nil {
			t.Errorf("a forged packet is to be forgotten, not offered again: %v", err)
		}
		b.Stop()
		checkOnce(t, b, "birch", "ash", 1)
		if got := ids(t, b, "birch"); len(got) != 1 {
			t.Errorf("birch has %q", got)
		}
	})
}

func TestAThirdHostIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, _, b := pair(t, 1)
		c := relaytest.NewHost(t, "laptop") // with its own key, under the name of a paired one
		c.Add(b, "*")
		net.Join(c)
		c.Start()
		b.Start()
		send(c, "devbox", 0, 9)
		time.Sleep(time.Hour)
		c.Stop()
		b.Stop()
		if got := ids(t, b, "birch"); len(got) != 0 || c.Drained("devbox") {
			t.Errorf("a host that is not paired has brought %q", got)
		}
	})
}

func TestARevokedHostIsRefusedAndTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		send(a, "devbox", 0, 4)
		delivered(t, a, b)
		if err := b.List.Revoke(t.Context(), "laptop"); err != nil {
			t.Fatal(err)
		}
		send(a, "devbox", 5, 9) // it was away, and does not know
		a.Start()
		b.Start()
		b.Send("laptop", message("oak", "birch", 0))
		time.Sleep(time.Hour)
		a.Stop()
		b.Stop()
		if got := ids(t, b, "birch"); len(got) != 5 || a.Drained("devbox") {
			t.Errorf("a revoked host has brought %q", got)
		}
		if got := ids(t, a, "birch"); len(got) != 0 {
			t.Errorf("a revoked host was sent %q", got)
		}
		wantTrouble(t, a, "devbox", "takes no mail")
	})
}

func TestRefusalsAreFinalForOneMessageAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 3)
		net.Lose = 0.3
		b.Post.Full = func(alias, id string) bool { return id == "elm-3" }
		elm := func(to string, n int) mail.Message { return message("elm", to, n) }
		old, notice := elm("cedar", 6), elm("cedar", 7)
		old.ExpiresAt = mail.Seconds(time.Now())
		notice.Kind = mail.KindSystem
		a.Send("devbox", elm("cedar", 0), elm("nobody", 1), elm("cedar", 2), elm("cedar", 3), elm("cedar", 4), old, notice, elm("cedar", 8))
		a.Start()
		b.Start()
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		a.Stop()
		b.Stop()
		if got := ids(t, b, "cedar"); !slices.Equal(got, []string{"elm-0", "elm-2", "elm-4", "elm-8"}) {
			t.Errorf("cedar has %q", got)
		}
		for id, want := range map[string]relay.Reason{"elm-0": "", "elm-1": relay.Unknown, "elm-3": relay.Full, "elm-4": "", "elm-6": relay.Expired, "elm-7": relay.Invalid} {
			if got := a.Post.WasRefused(id); got != want {
				t.Errorf("the sender of %s was told %q, want %q", id, got, want)
			}
			found, err := a.Outbox("devbox").Find(t.Context(), id)
			if stored := len(found) == 1 && found[0].Where == inbox.Archived; err != nil || stored != (want == "") {
				t.Errorf("the outbox says of %s: %+v, %v", id, found, err)
			}
		}
	})
}

// The sender is killed at each step while refusals come: each is told, and nothing that was refused
// counts as stored.
func TestAKillLosesNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for step := range 12 {
			_, a, b := pair(t, uint64(step))
			a.Send("devbox", message("elm", "nobody", 0), message("elm", "cedar", 1))
			a.Send("devbox", message("elm", "nobody", 2))
			a.KillAfter(step)
			b.KillAfter(step)
			a.Start()
			b.Start()
			wait(t, "drained", func() bool {
				for _, h := range []*relaytest.Host{a, b} {
					if h.Killed() {
						h.Stop()
						h.Start()
					}
				}
				return a.Drained("devbox")
			})
			a.Stop()
			b.Stop()
			for _, id := range []string{"elm-0", "elm-2"} {
				found, err := a.Outbox("devbox").Find(t.Context(), id)
				if a.Post.WasRefused(id) != relay.Unknown || err != nil || len(found) > 0 {
					t.Errorf("killed at step %d: sender of %s was told %q, and the outbox says %+v", step, id, a.Post.WasRefused(id), found)
				}
			}
			checkCount(t, b, "cedar", 1)
		}
	})
}

func checkCount(t *testing.T, h *relaytest.Host, alias string, want int) {
	t.Helper()
	if got := ids(t, h, alias); len(got) != want {
		t.Errorf("%s has %q, want %d", alias, got, want)
	}
}

// More messages are refused than the receiver remembers at once.
func TestAnyNumberIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		for first := 0; first < 3000; first += 500 {
			var msgs []mail.Message
			for n := range 500 {
				msgs = append(msgs, message("elm", "nobody", first+n))
			}
			a.Send("devbox", msgs...)
		}
		delivered(t, a, b)
		if len(a.Post.Refusals) != 3000 {
			t.Errorf("%d of 3000 refusals were told", len(a.Post.Refusals))
		}
	})
}

func TestAPeerReachesOnlyWhatItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := relaytest.NewNet(1)
		a, b := relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "devbox")
		a.Add(b, "*")
		b.Add(a, "Birch")
		net.Join(a)
		net.Join(b)
		a.Send("devbox", message("ash", "birch", 0), message("ash", "cedar", 1), message("ash", "birch", 1)) // one id for two receivers
		delivered(t, a, b)
		checkCount(t, b, "birch", 2)
		checkCount(t, b, "cedar", 0)
		if why := a.Post.WasRefused("ash-1"); why != relay.Forbidden {
			t.Errorf("the sender was told %q", why)
		}
	})
}

func TestLargeBodiesArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		want := strings.Repeat("\x01", mail.MaxBody) // JSON needs six bytes for each
		for n := range 8 {
			m := message("ash", "birch", n)
			m.Content = want
			a.Send("devbox", m)
		}
		delivered(t, a, b)
		msgs, err := b.Post.Mail("birch")
		if err != nil || len(msgs) != 8 {
			t.Fatalf("%d arrived, %v", len(msgs), err)
		}
		for _, m := range msgs {
			if m.Content != want {
				t.Errorf("the body of %s has changed", m.ID)
			}
		}
	})
}

// Another program has put into the outbox what no mailbox keeps.
func TestWhatNoMailboxKeepsBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		large := message("ash", "birch", 1)
		large.Content = strings.Repeat("x", 2<<20) // more than a packet has
		strange := message("ash", "birch", 2)
		strange.Kind = strings.Repeat("k", 200)
		file := mail.Array([]mail.Message{message("ash", "birch", 0), large, strange, message("ash", "birch", 1)})
		if err := a.Root().Replace("host-devbox.inbox.json", file); err != nil {
			t.Fatal(err)
		}
		delivered(t, a, b)
		checkOnce(t, b, "birch", "ash", 2)
	})
}

func TestTimesAreRightWhenAClockIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, off := range []time.Duration{-time.Hour, time.Hour} {
			_, a, b := pair(t, 1)
			b.Now = func() time.Time { return time.Now().Add(off) }
			now := time.Now()
			m := message("ash", "birch", 0)
			m.TS, m.ExpiresAt, m.NotBefore, m.AnswerBy, m.Due = mail.Seconds(now.Add(-time.Minute)), mail.Seconds(now.Add(10*time.Minute)), mail.Seconds(now), mail.Seconds(now.Add(20*time.Minute)), mail.Seconds(now.Add(5*time.Minute))
			a.Send("devbox", m)
			delivered(t, a, b)
			msgs, err := b.Post.Mail("birch")
			if err != nil || len(msgs) != 1 {
				t.Fatalf("%d arrived, %v", len(msgs), err)
			}
			got := msgs[0]
			for name, pair := range map[string][2]float64{"ts": {got.TS, m.TS}, "expires_at": {got.ExpiresAt, m.ExpiresAt}, "not_before": {got.NotBefore, m.NotBefore}, "answer_by": {got.AnswerBy, m.AnswerBy}, "due": {got.Due, m.Due}} {
				if late := pair[0] - off.Seconds() - pair[1]; late < -1 || late > 1 {
					t.Errorf("clock off by %s: %s is %g seconds late", off, name, late)
				}
			}
		}
	})
}

func TestMailThatCannotBeStoredYetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		until := time.Now().Add(24 * time.Hour)
		b.Post.Fail = func(string) error {
			if time.Now().Before(until) {
				return errors.New("no space left")
			}
			return nil
		}
		for n := range 200 {
			send(a, "devbox", n, n)
		}
		a.Start()
		b.Start()
		time.Sleep(23 * time.Hour)
		if sent := net.Sent(); sent > 2000 {
			t.Errorf("%d packets were sent in 23 hours to a host whose disk is full", sent)
		}
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		a.Stop()
		b.Stop()
		checkOnce(t, b, "birch", "ash", 200)
	})
}

// A mailbox that cannot be written does not keep back the mail of others, as far as the numbers
// allow.
func TestOneMailboxThatCannotBeWrittenHoldsUpNoOtherMailOfItsFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		fails := true
		b.Post.Fail = func(alias string) error {
			if fails && alias == "birch" {
				return errors.New("a disk error")
			}
			return nil
		}
		a.Send("devbox", message("ash", "cedar", 0), message("ash", "birch", 1), message("elm", "cedar", 0))
		a.KillAfter(-1)
		a.Start()
		b.Start()
		time.Sleep(time.Minute)
		if got := ids(t, b, "cedar"); !slices.Equal(got, []string{"ash-0", "elm-0"}) {
			t.Errorf("cedar has %q", got)
		}
		b.Stop() // it has noted the first message alone
		fails = false
		b.Start()
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		a.Stop()
		b.Stop()
		checkCount(t, b, "cedar", 2)
		checkCount(t, b, "birch", 1)
	})
}

// A kill between the record and the acknowledgement leaves several leases, which one receipt has
// completed.
func TestAKillBeforeSeveralLeasesAreAcknowledgedDoublesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, step := range []string{"settled", "acked"} {
			net, a, b := pair(t, 1)
			deaf := true // no receipt arrives
			net.Tamper = func(_, to string, packet []byte) [][]byte {
				if deaf && to == "laptop" {
					return nil
				}
				return [][]byte{packet}
			}
			a.Start()
			b.Start()
			settled()
			for n := range 40 {
				send(a, "devbox", 3*n, 3*n+2)
				settled()
			}
			a.Send("devbox", message("elm", "nobody", 1), message("ash", "birch", 120))
			settled()
			a.KillAt(step)
			net.Set(func(*relaytest.Net) { deaf = false })
			wait(t, "killed", a.Killed)
			a.Stop()
			a.Start()
			wait(t, "drained", func() bool { return a.Drained("devbox") })
			a.Stop()
			b.Stop()
			checkOnce(t, b, "birch", "ash", 121)
			if words := trouble(t, b, "laptop") + trouble(t, a, "devbox"); words != "" || a.Post.WasRefused("elm-1") != relay.Unknown {
				t.Errorf("killed at %q: people are told %q, and the sender of the refused message %q", step, words, a.Post.WasRefused("elm-1"))
			}
			if found, err := a.Outbox("devbox").Find(t.Context(), "ash-119"); err != nil || len(found) != 1 || found[0].Where != inbox.Archived {
				t.Errorf("the outbox says of a stored message %+v, %v", found, err)
			}
		}
	})
}

// The first frame is sent before its messages are leased.
func TestAKillBetweenAFrameAndItsLeaseDoublesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		a.Start()
		b.Start()
		for n := range 3 {
			a.KillAt("sent ahead")
			send(a, "devbox", 3*n, 3*n+1)
			wait(t, "killed", a.Killed)
			a.Stop()
			send(a, "devbox", 3*n+2, 3*n+2)
			a.Start()
			wait(t, "drained", func() bool { return a.Drained("devbox") })
		}
		a.Stop()
		b.Stop()
		checkOnce(t, b, "birch", "ash", 9)
		if words := trouble(t, b, "laptop") + trouble(t, a, "devbox"); words != "" {
			t.Errorf("people are told %q", words)
		}
	})
}

// A frame is stored, and the receiver killed before it notes that. Then a part of the frame comes
// as a smaller one.
func TestASmallerFrameAfterAKillDoublesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		var small []byte
		net.Tamper = func(_, to string, packet []byte) [][]byte {
			if l, _ := relay.LabelOf(packet); to == "devbox" && l.Kind == relay.Frame && small == nil {
				small = packet
				return nil
			}
			return [][]byte{packet}
		}
		a.Start()
		b.Start()
		send(a, "devbox", 0, 1)
		settled()
		a.Stop()
		send(a, "devbox", 2, 9)
		b.KillAt("delivered")
		a.Start()
		wait(t, "killed", b.Killed)
		b.Stop()
		checkOnce(t, b, "birch", "ash", 10) // stored, but not noted
		net.Cut(true)
		b.Start()
		if err := b.Relay.Packet(t.Context(), small); err != nil {
			t.Error(err)
		}
		net.Cut(false)
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		a.Stop()
		b.Stop()
		checkOnce(t, b, "birch", "ash", 10)
	})
}

// One lease has more messages that are refused than the receiver keeps refusals.
func TestAnyNumberOfOneLeaseIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		var msgs []mail.Message
		for n := range 3000 {
			msgs = append(msgs, message("elm", []string{"nobody", "birch"}[n%10/9], n))
		}
		a.Send("devbox", msgs...)
		delivered(t, a, b)
		if len(a.Post.Refusals) != 2700 {
			t.Errorf("%d of 2700 refusals were told", len(a.Post.Refusals))
		}
		checkCount(t, b, "birch", 300)
	})
}

func TestAnIdleRelaySendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Start()
		b.Start()
		send(a, "devbox", 0, 9)
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		before := net.Sent()
		time.Sleep(100 * time.Hour)
		if after := net.Sent(); after != before {
			t.Errorf("%d packets in 100 idle hours", after-before)
		}
		a.Stop()
		b.Stop()
	})
}

// A peer sleeps for three days, or a carrier keeps all packets for it.
func TestAnOutageCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Start()
		b.Start()
		settled()
		net.Cut(true)
		for n := range 3000 {
			if n%30 == 0 {
				send(a, "devbox", n, n+29)
			}
		}
		time.Sleep(72 * time.Hour)
		if sent := net.Sent(); sent != 0 {
			t.Errorf("%d packets without a link", sent)
		}
		net.Set(func(n *relaytest.Net) { n.Lose = 1 })
		net.Cut(false)
		time.Sleep(72 * time.Hour)
		if sent := net.Sent(); sent > 1000 {
			t.Errorf("%d packets in three days without an answer", sent)
		}
		net.Set(func(n *relaytest.Net) { n.Lose = 0 })
		net.Cut(true)
		net.Cut(false)
		time.Sleep(time.Second / 2) // on a new link it does not wait for the next question
		settled()
		if !a.Drained("devbox") {
			t.Error("mail still waits on a new link")
		}
		a.Stop()
		b.Stop()
		checkOnce(t, b, "birch", "ash", 3000)
	})
}

func TestDamagedFilesLoseAndDoubleNothing(t *testing.T) {
	for _, name := range []string{"devbox.head.json", "laptop.hw.json"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, a, b := pair(t, 1)
				send(a, "devbox", 0, 9)
				delivered(t, a, b)
				h := a
				if name == "laptop.hw.json" {
					h = b
				}
				if err := os.WriteFile(filepath.Join(h.Home, "root", "relay", name), []byte(`{"epoch":1,"next":-4`), 0o600); err != nil {
					t.Fatal(err)
				}
				send(a, "devbox", 10, 19)
				delivered(t, a, b)
				checkOnce(t, b, "birch", "ash", 20)
				if trouble(t, a, "devbox") == "" || trouble(t, b, "laptop") == "" {
					t.Error("nobody is told")
				}
			})
		})
	}
}

func TestOneProcessRelaysForARootAndPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		a.Start()
		b.Start()
		send(a, "devbox", 0, 0)
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		second, err := relay.Open(relay.Config{Root: a.Root(), Project: a.Project, Peers: a.Peers(), Carrier: a.Carrier, Post: a.Post})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- second.Run(ctx) }()
		second.Link("devbox", true)
		send(a, "devbox", 1, 100)
		second.Look("devbox")
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		a.Stop()
		b.Stop()
		checkOnce(t, b, "birch", "ash", 101)
		if words := trouble(t, b, "laptop"); words != "" {
			t.Errorf("two processes have numbered the mail: %s", words)
		}
	})
}

func TestPresenceAndStatesReachTheOtherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Start()
		b.Start()
		b.Relay.Announce([]cache.HeardSession{{Alias: "birch", Client: "codex", State: "idle"}, {Alias: "no alias\x1b[2J"}})
		b.Relay.Report("laptop", []cache.HeardState{{ID: "ash-0", Session: "s-ash", What: "read", By: "hook", At: 30}, {ID: "ash-0", What: "eaten"}})
		settled()
		host, err := cache.HeardFrom(a.Root(), "devbox")
		if err != nil || !host.Linked || len(host.Sessions) != 1 || host.Sessions[0].Alias != "birch" {
			t.Errorf("of devbox is known %+v, %v", host, err)
		}
		found, err := statesOf(a.Root(), "devbox", "ash-0")
		if err != nil || len(found) != 1 || found[0].What != "read" || found[0].By != "hook" {
			t.Errorf("of the message is known %+v, %v", found, err)
		}
		net.Cut(true)
		settled()
		if host, err := cache.HeardFrom(a.Root(), "devbox"); err != nil || host.Linked {
			t.Errorf("without a link, of devbox is known %+v, %v", host, err)
		}
		net.Cut(false)
		settled()
		a.Stop()
		if host, err := cache.HeardFrom(a.Root(), "devbox"); err != nil || host.Linked {
			t.Errorf("without a relay, of devbox is known %+v, %v", host, err)
		}
		b.Stop()
	})
}

func TestAHostLearnsOnlyOfSessionsThatItMayReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		if _, err := b.List.Allow(t.Context(), "laptop", []string{b.Project}, []string{"birch"}); err != nil {
			t.Fatal(err)
		}
		a.Start()
		b.Start()
		b.Relay.Announce([]cache.HeardSession{{Alias: "birch"}, {Alias: "secret"}})
		settled()
		if host, err := cache.HeardFrom(a.Root(), "devbox"); err != nil || len(host.Sessions) != 1 || host.Sessions[0].Alias != "birch" {
			t.Errorf("%+v %v", host, err)
		}
		a.Stop()
		b.Stop()
	})
}

// away is a carrier without a link. It counts the packets that it could not send.
type away struct{ tried atomic.Int64 }

func (a *away) Send(context.Context, string, []byte) error { a.tried.Add(1); return relay.ErrAway }

func (a *away) Run(ctx context.Context, _ relay.Handler) error { <-ctx.Done(); return nil }

// A carrier that pauses after a failure tries again when it is given a packet.
func TestNewMailHasACarrierWithoutALinkTryAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, _ := pair(t, 1)
		carrier := &away{}
		a.Carrier = carrier
		a.Start()
		defer a.Stop()
		for n := range 3 {
			time.Sleep(time.Second)
			send(a, "devbox", n, n)
			settled()
			for range 10 {
				a.Relay.Look("devbox") // it looks often, also without new mail
				settled()
			}
			time.Sleep(time.Hour)
			if got := carrier.tried.Load(); got != int64(n+1) {
				t.Errorf("after message %d the carrier was asked %d times", n+1, got)
			}
		}
	})
}

// statesOf gives the reported states of a message.
func statesOf(root *atomicfile.Dir, peer, id string) ([]cache.HeardState, error) {
	all, err := cache.ReadHeardReports(root, peer)
	return all.Of(id), err
}
