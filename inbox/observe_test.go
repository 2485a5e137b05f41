package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
)

// stepsOf writes steps as a test can compare them.
func stepsOf(t *testing.T, o *Observer) (got []string) {
	t.Helper()
	steps, err := o.Look()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		text := s.What + " " + s.Message.ID
		if s.First {
			text = "first " + text + " " + s.Message.Content
		}
		if s.What == Damaged {
			text = Damaged
		}
		got = append(got, text)
	}
	return got
}

func wantSteps(t *testing.T, o *Observer, want ...string) {
	t.Helper()
	if got := stepsOf(t, o); !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
}

func named(id string) mail.Message {
	return mail.Message{From: "birch", To: "amber", Content: "body of " + id, ID: id}
}

func TestAnObserverSeesEachStepOfAMessageOnce(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, named("m-1"))
	o := m.Observe(false)
	wantSteps(t, o, "first waiting m-1 body of m-1")
	wantSteps(t, o)
	deliver(t, m, named("m-2"))
	wantSteps(t, o, "first waiting m-2 body of m-2")
	l, err := m.Lease(t.Context(), "test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	wantSteps(t, o, "leased m-1", "leased m-2")
	deliver(t, m, named("m-3"))
	wantSteps(t, o, "first waiting m-3 body of m-3")
	if q, h, _ := o.Counts(); q != 1 || h != 2 {
		t.Errorf("%d wait and %d are in hand", q, h)
	}
	if err := l.Ack(t.Context(), "m-1"); err != nil {
		t.Fatal(err)
	}
	wantSteps(t, o, "archived m-1", "waiting m-2")
	if l, err = m.Lease(t.Context(), "test", 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := l.Ack(t.Context(), "m-2", "m-3"); err != nil {
		t.Fatal(err)
	}
	wantSteps(t, o, "archived m-2", "archived m-3")
	wantSteps(t, o)
}

func TestAnObserverMissesNothingBetweenTwoLooks(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, named("old"))
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	o := m.Observe(false)
	wantSteps(t, o)
	var want []string
	for i := range 30 { // some of them fill the archive so that it is rotated
		msg := named(fmt.Sprint("m-", i))
		msg.Content = strings.Repeat("x", 100<<10)
		deliver(t, m, msg)
		if _, err := drain(t.Context(), m, "test"); err != nil {
			t.Fatal(err)
		}
		want = append(want, "first archived "+msg.ID+" "+msg.Content)
	}
	wantSteps(t, o, want...)
	deliver(t, m, named("last"))
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	if p, err := m.archive.Prune(t.Context(), time.Now().Add(time.Hour), false); err != nil || p.Count == 0 {
		t.Fatal(p, err)
	}
	wantSteps(t, o) // what was pruned as quickly is gone
	deliver(t, m, named("more"))
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	wantSteps(t, o, "first archived more body of more")
}

func TestAnObserverTellsOfAReaderThatHasDied(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, named("m-1"))
	o := m.Observe(false)
	l, err := m.Lease(t.Context(), "test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	wantSteps(t, o, "first leased m-1 body of m-1")
	l.close() // as the kernel does
	wantSteps(t, o, "waiting m-1")
}

func TestAnObserverTellsThatAnEphemeralMessageIsGone(t *testing.T) {
	m, _ := newBox(t)
	msg := named("")
	msg.Ephemeral = true
	id := deliver(t, m, msg)[0].ID
	o := m.Observe(false)
	wantSteps(t, o, "first waiting "+id+" body of ")
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	wantSteps(t, o, "gone "+id)
}

func TestAnObserverTellsOfDamageOnceAndGoesOn(t *testing.T) {
	m, root := newBox(t)
	o := m.Observe(false)
	deliver(t, m, named("m-1"))
	path := filepath.Join(root, "amber.inbox.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte(`[{"from_alias":`), data[1:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "amber.lease", "00000001-1-10.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantSteps(t, o, Damaged, Damaged, "first waiting m-1 body of m-1")
	wantSteps(t, o)
}

func TestAnObserverLeavesNoTrace(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, named("m-1"))
	before, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.Stat(filepath.Join(root, m.LockName()))
	if err != nil {
		t.Fatal(err)
	}
	wantSteps(t, m.Observe(false), "first waiting m-1 body of m-1")
	after, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	now, err := os.Stat(filepath.Join(root, m.LockName()))
	if err != nil || len(before) != len(after) || !reflect.DeepEqual(lock.Sys(), now.Sys()) {
		t.Errorf("%v: %v and %v", err, before, after)
	}
}
