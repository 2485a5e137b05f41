package inbox

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Long messages fill many files; the first of them and the last record of the archive are long, too.
func TestABacklogIsFoundBehindLongMessages(t *testing.T) {
	m, _ := newBox(t)
	long := strings.Repeat("x", 50<<10)
	var times []time.Time
	for i := range 5 {
		sent := deliver(t, m, Message{From: "a", To: "b", Content: long, ID: fmt.Sprintf("m-%d", i)})
		times = append(times, sent[0].Time())
	}
	wantBacklog(t, m, 5, times[0])
	l := lease(t, m)
	wantBacklog(t, m, 0, time.Time{})
	if err := l.Ack(t.Context(), "m-0", "m-1"); err != nil {
		t.Fatal(err)
	}
	wantBacklog(t, m, 3, times[2])
	records, err := m.History(t.Context(), 1)
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	if at := backlogOf(t, m).LastRead; !at.Equal(FromSeconds(records[0].DrainedAt)) {
		t.Errorf("last read at %v, want %v", at, FromSeconds(records[0].DrainedAt))
	}
}

func backlogOf(t *testing.T, m *Mailbox) Backlog {
	t.Helper()
	there, err := m.root.NameSet()
	if err != nil {
		t.Fatal(err)
	}
	all, err := OpenBacklogs(m.root, there)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	b, err := all.Of(m.sid)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wantBacklog(t *testing.T, m *Mailbox, count int, oldest time.Time) {
	t.Helper()
	if got := backlogOf(t, m); got.Count != count || !got.Oldest.Equal(oldest) {
		t.Errorf("backlog %+v, want %d since %v", got, count, oldest)
	}
}

func TestAnEmptyMailboxHasNoBacklog(t *testing.T) {
	m, _ := newBox(t)
	if got := backlogOf(t, m); got != (Backlog{}) {
		t.Errorf("backlog %+v", got)
	}
}
