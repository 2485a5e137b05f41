package wake

import (
	"fmt"
	"testing"
	"time"

	"c2c/inbox/mail"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func waiting(ids ...string) (msgs []mail.Message) {
	for _, id := range ids {
		msgs = append(msgs, mail.Message{ID: id, From: "birch", To: "amber"})
	}
	return msgs
}

func TestOneRingUntilSomebodyDrains(t *testing.T) {
	p, now := Policy{}, start
	if d := p.Decide(now, waiting("a"), false, false); !d.Ring {
		t.Fatalf("first message: %+v", d)
	}
	p.Done(now, firstGap)
	for _, more := range [][]mail.Message{waiting("a"), waiting("a", "b"), waiting("a", "b", "c")} {
		now = now.Add(time.Second)
		if d := p.Decide(now, more, false, false); d.Ring || d.Outcome != Coalesced {
			t.Errorf("%d waiting: %+v", len(more), d)
		}
	}
	now = now.Add(2 * time.Second) // drained, and new mail came
	if d := p.Decide(now, waiting("d"), false, false); !d.Ring {
		t.Errorf("after a drain: %+v", d)
	}
	p.Done(now, firstGap)
	other := waiting("d") // drained again, and another sender uses the same id
	other[0].From = "pine"
	if d := p.Decide(now.Add(2*time.Second), other, false, false); !d.Ring {
		t.Errorf("another sender's message: %+v", d)
	}
}

// A hook takes a message, finds it too long to show, and gives it back: meanwhile the next message
// is the oldest that waits.
func TestAMessageThatIsTakenAndGivenBackIsNotRungAsNew(t *testing.T) {
	p, now, rings := Policy{}, start, 0
	for i := range 120 {
		ids := []string{"big", "small"}[i%2:]
		if d := p.Decide(now, waiting(ids...), false, false); d.Ring {
			rings++
			p.Done(now, firstGap)
		}
		now = now.Add(time.Second)
	}
	if rings > 10 {
		t.Errorf("%d rings in two minutes", rings)
	}
}

func TestRingsAgainWithBackOffWhenNobodyDrains(t *testing.T) {
	p, now, rings := Policy{}, start, 0
	var gaps []time.Duration
	for last := now; now.Sub(start) < 2*time.Hour; {
		d := p.Decide(now, waiting("a"), false, false)
		if !d.Ring {
			now = now.Add(d.Again)
			continue
		}
		if rings++; rings > 1 {
			gaps = append(gaps, now.Sub(last))
		}
		last = now
		p.Done(now, firstGap)
	}
	want := "[15s 30s 1m0s 2m0s 4m0s 8m0s 10m0s 10m0s"
	if got := fmt.Sprint(gaps[:8]); got != want+"]" {
		t.Errorf("gaps %s, want %s", got, want)
	}
}

// Whoever asks for fewer rings gets no more after the first.
func TestALongGapStaysAsItIs(t *testing.T) {
	p := Policy{}
	for range 3 {
		p.Decide(start, waiting("a"), false, false)
		if p.Done(start, time.Hour); p.Gap != time.Hour {
			t.Errorf("gap %v after %d rings", p.Gap, p.Tries)
		}
	}
}

func TestABurstIsAFewRings(t *testing.T) {
	p, now, rings := Policy{}, start, 0
	for i := range 100 { // each message is drained at once, and ten milliseconds later there is another
		if d := p.Decide(now, waiting(fmt.Sprint(i)), false, false); d.Ring {
			rings++
			p.Done(now, firstGap)
		}
		now = now.Add(10 * time.Millisecond)
	}
	if rings > 3 {
		t.Errorf("%d rings in a second", rings)
	}
	if d := p.Decide(now, waiting("last"), false, false); !d.Ring {
		t.Errorf("after the burst: %+v", d)
	}
}

func TestWhatMayWaitRingsNobody(t *testing.T) {
	quiet := []mail.Message{{ID: "a", Deferrable: true}, {ID: "b", Kind: "system"}}
	if d := (&Policy{}).Decide(start, quiet, false, false); d.Ring || d.Outcome != Filtered {
		t.Errorf("%+v", d)
	}
	if d := (&Policy{}).Decide(start, waiting("d"), false, true); d.Ring || d.Outcome != Filtered {
		t.Errorf("do not disturb: %+v", d)
	}
	if d := (&Policy{}).Decide(start, append(quiet, waiting("c")...), false, false); !d.Ring {
		t.Errorf("with one that may not: %+v", d)
	}
}

func TestARingThatJoinsTheTurnIsRungOnce(t *testing.T) {
	p := Policy{Joins: true}
	if d := p.Decide(start, waiting("a"), true, false); !d.Ring {
		t.Fatalf("busy: %+v", d)
	}
	p.Done(start, firstGap)
	if d := p.Decide(start.Add(firstGap), waiting("a"), true, false); d.Ring {
		t.Errorf("rung for already, and the turn goes on: %+v", d)
	}
	if d := p.Decide(start.Add(firstGap), waiting("b"), true, false); !d.Ring {
		t.Errorf("another message: %+v", d)
	}
	if d := p.Decide(start.Add(firstGap), waiting("a"), false, false); !d.Ring {
		t.Errorf("its turn is over: %+v", d)
	}
}

func TestABusySessionIsLeftToItsHooks(t *testing.T) {
	p, looks := Policy{}, []time.Duration{}
	for now := start; len(looks) < 7; now = now.Add(looks[len(looks)-1]) {
		d := p.Decide(now, waiting("a"), true, false)
		if d.Ring {
			t.Fatalf("busy: %+v", d)
		}
		looks = append(looks, d.Again)
	}
	if got := fmt.Sprint(looks); got != "[100ms 100ms 200ms 400ms 800ms 1.6s 2s]" {
		t.Errorf("looks again after %s", got)
	}
	if d := p.Decide(start.Add(BusyLook), waiting("a"), false, false); !d.Ring {
		t.Errorf("its turn is over: %+v", d)
	}
	if d := p.Decide(start.Add(busyLimit), waiting("a"), true, false); !d.Ring {
		t.Errorf("busy for too long: %+v", d)
	}
}
