package broker_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// day is a simulated day of sessions that work together.
type day struct {
	*world
	rand     *rand.Rand
	sessions []*worker
	perHour  int            // messages that a session writes
	mail     int            // what readers have read of peers
	notices  map[string]int // and of c2c, by its kind
}

// worker is a session of a day. It reads when a turn of it begins or a tool of it is called.
type worker struct {
	sessions.Session
	pid     int
	reads   int // minutes between two looks at its mail, on average
	leaves  int // the minute at which it ends; 0: it stays
	returns int
	owes    []promised
}

// promised is a question that a session has read, and when it answers it; zero: never.
type promised struct {
	mail.Message
	at time.Time
}

// aDay has four sessions that work, one that waits for its person for long, one that does not want
// to be disturbed, and two that are gone for some hours.
func aDay(t *testing.T, perHour int, seed uint64) *day {
	d := &day{world: newWorldOf(t, broker.Config{Hops: -1}), rand: rand.New(rand.NewPCG(seed, 18)), perHour: perHour, notices: map[string]int{}}
	for i, w := range []worker{{reads: 5}, {reads: 5}, {reads: 10}, {reads: 10}, {reads: 60}, {reads: 90}, {reads: 10, leaves: 120, returns: 300}, {reads: 10, leaves: 180, returns: 420}} {
		w.pid = 1000 + i
		d.arrives(&w, i)
		d.sessions = append(d.sessions, &w)
	}
	if err := d.SetQuiet(t.Context(), d.sessions[5].ID, true); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *day) arrives(w *worker, i int) {
	d.world.starts(w.pid)
	w.Session = d.register(fmt.Sprint("agent-", i), callers.Caller{Client: "claude", ClientID: fmt.Sprint("u", i), PID: d.world.pid(w.pid)})
}

// reads hands over what waits, and counts it.
func (d *day) reads(w *worker) {
	for _, m := range d.waiting(w.ID) {
		if !m.IsNotice() {
			d.mail++
			if m.Owes() {
				w.owes = append(w.owes, promised{m, d.answers()})
			}
			continue
		}
		reason := "to a sender"
		if !m.Deferrable {
			reason = owed.Reminder
		}
		d.notices[reason]++
	}
	d.read(w.ID)
}

// answers is when a session answers what it has read: mostly soon, now and then some hours later,
// or never.
func (d *day) answers() (at time.Time) {
	switch n := d.rand.IntN(10); {
	case n < 6:
		at = d.clock.Add(5 * time.Minute)
	case n < 8:
		at = d.clock.Add(5 * time.Hour)
	}
	return at
}

// minute is one minute of a session.
func (d *day) minute(at int, i int) {
	w := d.sessions[i]
	switch {
	case at == w.leaves && at > 0:
		d.ends(w.pid)
	case at == w.returns && at > 0:
		w.pid += 100
		d.arrives(w, i)
	}
	if w.leaves > 0 && at >= w.leaves && at < w.returns {
		return
	}
	if d.rand.IntN(60) < d.perHour && w.reads <= 10 {
		to := d.sessions[d.rand.IntN(len(d.sessions))]
		if to != w {
			kind := []string{"", "", "", "", "status", "question", "task"}[d.rand.IntN(7)]
			d.put(w.Session, to.Alias, mail.Message{Kind: kind, Content: "x"})
		}
	}
	if d.rand.IntN(w.reads) == 0 {
		d.reads(w)
	}
	kept := w.owes[:0]
	for _, m := range w.owes {
		if !m.at.IsZero() && !m.at.After(d.clock) {
			d.put(w.Session, m.From, mail.Message{InReplyTo: m.ID, Content: "done"})
			continue
		}
		kept = append(kept, m)
	}
	w.owes = kept
}

// run has the day pass, and says how many notices were read.
func (d *day) run() (n int) {
	k := owed.NewChecker(d.Registry)
	for at := range 10 * 60 {
		for i := range d.sessions {
			d.minute(at, i)
		}
		d.look(k)
		d.pass(time.Minute)
	}
	for _, one := range d.notices {
		n += one
	}
	return n
}

// Of what the sessions of some days read, little is of c2c itself, whether they write much or
// little.
func TestADayIsQuiet(t *testing.T) {
	t.Parallel()
	for _, perHour := range []int{3, 6, 8} {
		t.Run(fmt.Sprintf("%d messages an hour", perHour), func(t *testing.T) {
			t.Parallel()
			mail, n := 0, 0
			for seed := range uint64(3) { // one day has some 15 notices, which is too few to tell
				d := aDay(t, perHour, 8+seed)
				n += d.run()
				mail += d.mail
				t.Logf("%d messages of peers, and %v", d.mail, d.notices)
			}
			t.Logf("%d messages of peers and %d notices were read: %.1f %% are notices", mail, n, 100*float64(n)/float64(mail+n))
			if 10*n > mail+n {
				t.Errorf("%d of %d are notices", n, mail+n)
			}
		})
	}
}
