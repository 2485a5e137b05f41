package wake

import (
	"fmt"
	"testing"
	"time"

	"c2c/inbox"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func waiting(ids ...string) (msgs []inbox.Message) {
	for _, id := range ids {
		msgs = append(msgs, inbox.Message{ID: id, From: "birch", To: "amber"})
	}
	return msgs
}

func TestOneRingUntilSomebodyDrains(t *testing.T) {
	p, now := policy{}, start
	if d := p.decide(now, waiting("a"), false, false); !d.ring {
		t.Fatalf("first message: %+v", d)
	}
	p.done(now, firstGap)
	for _, more := range [][]inbox.Message{waiting("a"), waiting("a", "b"), waiting("a", "b", "c")} {
		now = now.Add(time.Second)
		if d := p.decide(now, more, false, false); d.ring || d.outcome != Coalesced {
			t.Errorf("%d waiting: %+v", len(more), d)
		}
	}
	now = now.Add(2 * time.Second) // drained, and new mail came
	if d := p.decide(now, waiting("d"), false, false); !d.ring {
		t.Errorf("after a drain: %+v", d)
	}
}

func TestRingsAgainWithBackOffWhenNobodyDrains(t *testing.T) {
	p, now, rings := policy{}, start, 0
	var gaps []time.Duration
	for last := now; now.Sub(start) < 2*time.Hour; {
		d := p.decide(now, waiting("a"), false, false)
		if !d.ring {
			now = now.Add(d.again)
			continue
		}
		if rings++; rings > 1 {
			gaps = append(gaps, now.Sub(last))
		}
		last = now
		p.done(now, firstGap)
	}
	want := "[15s 30s 1m0s 2m0s 4m0s 8m0s 10m0s 10m0s"
	if got := fmt.Sprint(gaps[:8]); got != want+"]" {
		t.Errorf("gaps %s, want %s", got, want)
	}
}

func TestABurstIsAFewRings(t *testing.T) {
	p, now, rings := policy{}, start, 0
	for i := range 100 { // each message is drained at once, and ten milliseconds later there is another
		if d := p.decide(now, waiting(fmt.Sprint(i)), false, false); d.ring {
			rings++
			p.done(now, firstGap)
		}
		now = now.Add(10 * time.Millisecond)
	}
	if rings > 3 {
		t.Errorf("%d rings in a second", rings)
	}
	if d := p.decide(now, waiting("last"), false, false); !d.ring {
		t.Errorf("after the burst: %+v", d)
	}
}

func TestWhatMayWaitRingsNobody(t *testing.T) {
	quiet := []inbox.Message{{ID: "a", Deferrable: true}, {ID: "b", Kind: "system"}}
	if d := (&policy{}).decide(start, quiet, false, false); d.ring || d.outcome != Filtered {
		t.Errorf("%+v", d)
	}
	if d := (&policy{}).decide(start, waiting("d"), false, true); d.ring || d.outcome != Filtered {
		t.Errorf("do not disturb: %+v", d)
	}
	if d := (&policy{}).decide(start, append(quiet, waiting("c")...), false, false); !d.ring {
		t.Errorf("with one that may not: %+v", d)
	}
}

func TestABusySessionIsLeftToItsHooks(t *testing.T) {
	p := policy{}
	if d := p.decide(start, waiting("a"), true, false); d.ring || d.again != busyLook {
		t.Errorf("busy: %+v", d)
	}
	if d := p.decide(start.Add(busyLook), waiting("a"), false, false); !d.ring {
		t.Errorf("its turn is over: %+v", d)
	}
	if d := p.decide(start.Add(patience), waiting("a"), true, false); !d.ring {
		t.Errorf("busy for too long: %+v", d)
	}
}
