package watch

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/wake"
)

// told is what Watcher.Report was told, one line for each message.
func (s *stage) told() (take func() []string, traces *[]string) {
	var lines, all []string
	s.w.Report = func(_ context.Context, msgs []mail.Message, r wake.Ring) {
		for _, m := range msgs {
			lines = append(lines, r.Outcome+" "+m.ID)
			all = append(all, r.RingID)
		}
	}
	return func() []string { defer func() { lines = nil }(); return lines }, &all
}

func wantTold(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: told %q, want %q", what, got, want)
	}
}

func TestWhatBecameOfEachMessageIsToldOnce(t *testing.T) {
	bell := &script{}
	s := newStage(t, wake.Method{Name: "test", Doorbell: bell})
	told, traces := s.told()
	s.deliver("m1")
	if _, err := s.box.Deliver(t.Context(), mail.Message{From: "birch", To: "amber", Content: "x", ID: "late", Deferrable: true}); err != nil {
		t.Fatal(err)
	}
	s.look()
	wantTold(t, "first look", told(), "rang m1", "filtered late")
	if len(bell.rung) != 1 || bell.rung[0].RingID == "" || (*traces)[0] != bell.rung[0].RingID {
		t.Errorf("the bell has %+v, told were %q", bell.rung, *traces)
	}
	s.deliver("m2")
	s.look()
	s.look()
	wantTold(t, "while the bell is out", told(), "coalesced m2")
	if last := (*traces)[len(*traces)-1]; last != bell.rung[0].RingID {
		t.Errorf("it is of ring %q, want %q", last, bell.rung[0].RingID)
	}
	s.now = s.now.Add(time.Minute)
	s.look()
	wantTold(t, "rung again", told(), "rang m1", "rang m2")
	if len(bell.rung) != 2 || bell.rung[1].RingID == bell.rung[0].RingID {
		t.Errorf("the second bell has %+v", bell.rung)
	}
	lease, err := s.box.Lease(t.Context(), "test", wake.MaxLook)
	if err == nil {
		err = lease.Ack(t.Context(), "m1", "m2", "late")
	}
	if err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(time.Minute)
	s.deliver("m3")
	s.look()
	wantTold(t, "after a drain", told(), "rang m3")
}

func TestMailForWhoIsNotToBeDisturbedIsToldAsFiltered(t *testing.T) {
	bell := &script{}
	s := newStage(t, wake.Method{Name: "test", Doorbell: bell})
	quiet := true
	s.w.Quiet = func() bool { return quiet }
	told, _ := s.told()
	s.deliver("m1")
	s.look()
	s.look()
	wantTold(t, "do not disturb", told(), "filtered m1")
	quiet = false
	s.look()
	wantTold(t, "and not any more", told(), "rang m1")
}

func TestABellThatIsNotTakenIsTold(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: full", wake.ErrUncaptured), "uncaptured m1"},
		{fmt.Errorf("%w: gone", wake.ErrUnreachable), "failed m1"},
	} {
		s := newStage(t, wake.Method{Name: "test", Doorbell: &script{ring: tc.err}})
		told, _ := s.told()
		s.deliver("m1")
		s.look()
		wantTold(t, tc.err.Error(), told(), tc.want)
	}
}

// While a session works nothing is decided; its first ring is told as such.
func TestWhatABusySessionGetsIsToldWithItsRing(t *testing.T) {
	bell := &script{}
	s := newStage(t, wake.Method{Name: "test", Doorbell: bell})
	busy := true
	s.w.Busy = func(context.Context) bool { return busy }
	told, _ := s.told()
	s.deliver("m1")
	s.look()
	wantTold(t, "busy", told())
	busy = false
	s.look()
	wantTold(t, "idle", told(), "rang m1")
}

// The way that a bell took is told of those for whom it was enough, too: of a question nothing else
// would say it.
func TestACoalescedMessageIsToldWithTheWayOfTheRing(t *testing.T) {
	s := newStage(t, wake.Method{Name: "test", Doorbell: &script{}})
	var got []string
	s.w.Report = func(_ context.Context, msgs []mail.Message, r wake.Ring) {
		for _, m := range msgs {
			got = append(got, m.ID+" "+r.Outcome+" "+r.Method)
		}
	}
	s.deliver("m1")
	s.look()
	s.deliver("m2")
	s.look()
	wantTold(t, "all", got, "m1 rang test", "m2 coalesced test")
}

func TestANewWatcherOfTheSessionTellsNothingTwice(t *testing.T) {
	s := newStage(t, wake.Method{Name: "test", Doorbell: &script{}})
	told, _ := s.told()
	s.deliver("m1")
	s.look()
	s.deliver("m2")
	s.look()
	wantTold(t, "the first watcher", told(), "rang m1", "coalesced m2")
	before := *s.w
	s.w = &Watcher{Box: s.box, Methods: before.Methods, Now: before.Now, Record: before.Record, Report: before.Report}
	s.w.Continue(&before)
	s.look()
	wantTold(t, "the next one", told())
}
