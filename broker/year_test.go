package broker_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// year is a root that is used every day, by sessions that come and go.
type year struct {
	*world
	rand    *rand.Rand
	begun   time.Time // when the test began: a file with a later time was just written
	running []*living
	pid     int
	denied  int // sessions that got no mailbox
	inodes  int // the most that there were
	bytes   int64
}

// living is a session that runs.
type living struct {
	sessions.Session
	pid     int
	ends    time.Time
	release func() error
}

// aYear begins in the future, so that a file that was just written can be told from one that has
// its time in this world.
func aYear(t *testing.T) *year {
	y := &year{world: newTableWorld(t), rand: rand.New(rand.NewPCG(18, 18)), begun: time.Now().Add(-time.Minute), pid: 1000}
	y.clock = y.begun.Add(48 * time.Hour)
	return y
}

// age gives files that were just written the time of this world, counts them, and says how large
// they are together.
func (y *year) age() {
	y.t.Helper()
	inodes, bytes := 0, int64(0)
	err := filepath.WalkDir(y.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		inodes++
		if !d.IsDir() {
			bytes += info.Size()
		}
		if at := info.ModTime(); info.Mode()&fs.ModeSymlink == 0 && at.After(y.begun) && at.Before(y.begun.Add(24*time.Hour)) {
			return os.Chtimes(path, y.clock, y.clock)
		}
		return nil
	})
	if err != nil {
		y.t.Fatal(err)
	}
	y.inodes, y.bytes = max(y.inodes, inodes), max(y.bytes, bytes)
}

// starts begins a session, as the hook of a client does and its server behind it.
func (y *year) starts(id string, runs time.Duration) *living {
	y.t.Helper()
	y.pid++
	y.world.starts(y.pid)
	s, err := y.Attach(y.t.Context(), callers.Caller{Client: "claude", ClientID: id, PID: y.world.pid(y.pid)})
	if err != nil {
		if y.denied++; y.denied == 1 {
			y.t.Errorf("%s on %s: %v", id, y.clock, err)
		}
		return nil
	}
	release, err := y.Locks.Serve(s.ID)
	if err != nil {
		y.t.Fatal(err)
	}
	ring, ok, err := y.Locks.BorrowRinging(s.ID)
	if err == nil && ok {
		err = ring()
	}
	if err != nil {
		y.t.Fatal(err)
	}
	one := &living{s, y.pid, y.clock.Add(runs), release}
	y.running = append(y.running, one)
	return one
}

func (y *year) end(one *living) {
	if err := one.release(); err != nil {
		y.t.Error(err)
	}
	y.ends(one.pid)
}

// other gives a session that runs and is not this one, nil when there is none.
func (y *year) other(one *living) *living {
	rest := slices.DeleteFunc(slices.Clone(y.running), func(l *living) bool { return l == one })
	if len(rest) == 0 {
		return nil
	}
	return rest[y.rand.IntN(len(rest))]
}

// works is three hours of the sessions that run: they write, ask, read, and answer or do not.
func (y *year) works() {
	for _, one := range slices.Clone(y.running) {
		if peer := y.other(one); peer != nil && y.rand.IntN(2) == 0 {
			kind := []string{"", "", "question", "task", "status"}[y.rand.IntN(5)]
			y.put(peer.Session, one.Alias, mail.Message{Kind: kind, Content: fmt.Sprintf("%d: %0100d", y.rand.Int(), 0)})
		}
		if y.rand.IntN(4) == 0 {
			continue
		}
		for _, m := range y.waiting(one.ID) {
			if m.Owes() && y.rand.IntN(2) == 0 {
				if to := y.authorOf(m); to != nil && to.SID() != one.ID {
					y.put(one.Session, to.Alias(), mail.Message{InReplyTo: m.ID, Content: "done"})
				}
			}
		}
		y.read(one.ID)
	}
	y.running = slices.DeleteFunc(y.running, func(l *living) bool {
		over := y.clock.After(l.ends)
		if over {
			if y.rand.IntN(10) > 0 { // most read what is there before they end
				y.read(l.ID)
			}
			y.end(l)
		}
		return over
	})
}

func (y *year) authorOf(m mail.Message) sessions.Row {
	rows, err := y.Rows(y.t.Context())
	if err != nil {
		y.t.Fatal(err)
	}
	return y.Authors(rows).Of(m)
}

// A year of 500 sessions that start, are asked, read, answer or do not, and end, with nobody
// tidying by hand.
func TestAYear(t *testing.T) {
	t.Parallel()
	const sessionList, days = 500, 365
	y := aYear(t)
	begun, started := y.clock, 0
	var k *owed.Checker
	for hour := 0; hour < days*24; hour += 3 {
		for started < sessionList && y.clock.Sub(begun) >= time.Duration(started)*(days*24*time.Hour/sessionList) {
			started++
			y.starts(fmt.Sprintf("%08d-0000-7000-8000-000000000000", started), time.Duration(1+y.rand.IntN(72))*time.Hour)
		}
		y.works()
		if hour%72 == 0 {
			k = owed.NewChecker(y.Registry) // of a server that was just started
		}
		if hour%12 == 0 {
			y.look(k)
			moves.TidyDaily(t.Context(), y.Registry)
		}
		if hour%24 == 0 {
			y.age()
		}
		y.pass(3 * time.Hour)
	}
	t.Logf("%d sessions, %d got no mailbox; at most %d inodes, %d bytes; registry %d bytes", started, y.denied, y.inodes, y.bytes, len(y.file(sessions.RegistryFileName)))
	if started != sessionList || y.denied != 0 {
		t.Errorf("%d of %d sessions got no mailbox", y.denied, started)
	}
	if y.inodes > 1500 || y.bytes > 4<<20 {
		t.Errorf("%d inodes with %d bytes", y.inodes, y.bytes)
	}
	for _, f := range broker.CheckRoot(t.Context(), y.Registry) {
		if f.Status != format.OK {
			t.Errorf("%s: %s", f.Part, f.Detail)
		}
	}
}
