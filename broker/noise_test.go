package broker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"c2c/inbox"
)

// day is a simulated day of sessions that work together.
type day struct {
	*world
	rand     *rand.Rand
	sessions []*worker
	mail     int            // what readers have read of peers
	notices  map[string]int // and of c2c, by its kind
}

// worker is a session of a day. It reads when a turn of it begins or a tool of it is called.
type worker struct {
	Session
	pid     int
	reads   int // minutes between two looks at its mail, on average
	leaves  int // the minute at which it ends; 0: it stays
	returns int
	owes    []promised
}

// promised is a question that a session has read, and when it answers it; zero: never.
type promised struct {
	inbox.Message
	at time.Time
}

// aDay has four sessions that work, one that waits for its person for long, one that does not want to be disturbed, and two
// that are gone for some hours.
func aDay(t *testing.T) *day {
	d := &day{world: newWorld(t), rand: rand.New(rand.NewPCG(8, 18)), notices: map[string]int{}}
	d.storm = StormLimits{Hops: -1}
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
	d.procs[w.pid] = process{pid: w.pid, parent: 1, start: int64(w.pid)}
	w.Session = d.register(fmt.Sprint("agent-", i), Caller{Client: "claude", ClientID: fmt.Sprint("u", i), PID: w.pid})
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
			reason = Reminder
		}
		d.notices[reason]++
	}
	d.read(w.ID)
}

// answers is when a session answers what it has read: mostly soon, now and then some hours later, or never.
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
	if d.rand.IntN(10) == 0 && w.reads <= 10 { // it writes some six messages an hour
		to := d.sessions[d.rand.IntN(len(d.sessions))]
		if to != w {
			kind := []string{"", "", "", "", "status", "question", "task"}[d.rand.IntN(7)]
			d.put(w.Session, to.Alias, inbox.Message{Kind: kind, Content: "x"})
		}
	}
	if d.rand.IntN(w.reads) == 0 {
		d.reads(w)
	}
	kept := w.owes[:0]
	for _, m := range w.owes {
		if !m.at.IsZero() && !m.at.After(d.clock) {
			d.put(w.Session, m.From, inbox.Message{InReplyTo: m.ID, Content: "done"})
			continue
		}
		kept = append(kept, m)
	}
	w.owes = kept
}

// Of what the sessions of a day read, little is of c2c itself.
func TestADayIsQuiet(t *testing.T) {
	t.Parallel()
	d := aDay(t)
	k := d.Keeper()
	for at := range 10 * 60 {
		for i := range d.sessions {
			d.minute(at, i)
		}
		d.look(k)
		d.pass(time.Minute)
	}
	n := 0
	for _, one := range d.notices {
		n += one
	}
	t.Logf("%d messages of peers and %d notices were read: %d %% are notices; %v", d.mail, n, 100*n/(d.mail+n), d.notices)
	if 10*n > d.mail+n {
		t.Errorf("%d of %d are notices", n, d.mail+n)
	}
}
