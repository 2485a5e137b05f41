package broker_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/wake"
)

func (w *world) stats() owed.Stats {
	w.t.Helper()
	st, err := owed.ReadStats(w.t.Context(), w.Registry)
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// One was answered in time, one late, one refused, one is read and one is not.
func measured(t *testing.T) (w *world, amber, birch sessions.Session) {
	t.Helper()
	w, amber, birch = pair(t)
	free := w.rings(birch)
	ask := func(m mail.Message) string { return w.put(amber, "birch", m).ID }
	first, late, refused := ask(mail.Message{Kind: "question"}), ask(mail.Message{Kind: "task", Tag: "blocking"}), ask(mail.Message{Kind: "review"})
	waiting := w.waiting(birch.ID)
	w.pass(10 * time.Second)
	if err := owed.CountRing(t.Context(), w.Registry, birch.ID, waiting[:2], wake.Ring{At: w.clock, Method: "sse", Outcome: wake.Rang}); err != nil {
		t.Fatal(err)
	}
	if err := owed.CountRing(t.Context(), w.Registry, birch.ID, waiting[2:], wake.Ring{At: w.clock, Outcome: wake.Filtered}); err != nil {
		t.Fatal(err)
	}
	w.pass(10 * time.Second)
	w.read(birch.ID)
	w.pass(10 * time.Second)
	w.put(birch, "amber", mail.Message{InReplyTo: first})
	w.put(birch, "amber", mail.Message{InReplyTo: refused, Tag: "fail"})
	w.put(birch, "amber", mail.Message{InReplyTo: late, Kind: "ack"})
	w.pass(time.Hour)
	w.put(birch, "amber", mail.Message{InReplyTo: late})
	free()
	ask(mail.Message{Kind: "question", Tag: "urgent"})
	w.pass(time.Minute)
	w.read(birch.ID)
	ask(mail.Message{Kind: "question"})
	w.pass(29 * time.Minute)
	return w, amber, birch
}

func TestStatsCountWhatBecameOfObligations(t *testing.T) {
	t.Parallel()
	w, _, _ := measured(t)
	st := w.stats()
	if st.Open != 2 || st.Overdue != 1 || !reflect.DeepEqual(st.Over, map[string]int{owed.Answered: 2, owed.Refused: 1}) || st.Root != w.Root() {
		t.Errorf("stats %+v", st)
	}
	full := owed.SurfaceStats{Surface: sessions.SurfaceFull, Sent: 3, Pushed: 2, Observed: 3, Acknowledged: 3, Observe: owed.Latency{P50: 20, P95: 20, Max: 20}}
	degraded := owed.SurfaceStats{Surface: sessions.SurfaceDegraded, Sent: 2, Observed: 1, Observe: owed.Latency{P50: 60, P95: 60, Max: 60}}
	if len(st.Surfaces) != 2 || !reflect.DeepEqual(st.Surfaces, []owed.SurfaceStats{full, degraded}) {
		t.Errorf("stats %+v, want %+v and %+v", st.Surfaces, full, degraded)
	}
	total := owed.SurfaceStats{Sent: 5, Pushed: 2, Observed: 4, Acknowledged: 3, Observe: owed.Latency{P50: 20, P95: 60, Max: 60}}
	if !reflect.DeepEqual(st.Total, total) {
		t.Errorf("total %+v, want %+v", st.Total, total)
	}
	again := w.stats()
	if !reflect.DeepEqual(again, st) {
		t.Errorf("stats %+v, and before %+v", again, st)
	}
}

// Whoever closes one is killed before its record is gone: it is counted once.
func TestAnObligationIsCountedOnce(t *testing.T) {
	t.Parallel()
	w, amber, birch, r := asks(t, mail.Message{Kind: "question"})
	record := w.file("owed/" + birch.ID + ".jsonl")
	for range 2 {
		w.pass(time.Second)
		w.put(birch, "amber", mail.Message{InReplyTo: r.ID})
		if err := os.WriteFile(filepath.Join(w.Root(), owedDir, birch.ID+owedEnd), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		if st := w.stats(); st.Total.Sent != 1 || st.Over[owed.Answered] != 1 || st.Open != 0 {
			t.Errorf("stats %+v", st)
		}
		w.wantState(amber, owed.Answered)
	}
	if lines := strings.Count(w.file("owed/"+closedFile), "\n"); lines != 2 {
		t.Errorf("%d lines", lines)
	}
	if strings.Contains(w.file("owed/"+closedFile), "which port") {
		t.Error("the words of what is over are kept")
	}
	w.pass(4 * time.Hour)
	w.look(owed.NewChecker(w.Registry))
	if w.left(birch.ID) {
		t.Error("the record stays")
	}
	w.wantState(amber, owed.Answered)
}

var sample = regexp.MustCompile(`^([a-z][a-z0-9_]*)\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+\} (?:[0-9.e+]+)$`)

// wantExposition checks that a text has the form 0.0.4 of Prometheus, and each metric once.
func wantExposition(t *testing.T, text string) {
	t.Helper()
	named, declared := "", map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, is := strings.CutPrefix(line, "# TYPE "); is {
			named, _, _ = strings.Cut(name, " ")
			if declared[named] {
				t.Errorf("%s is declared twice", named)
			}
			declared[named] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		found := sample.FindStringSubmatch(line)
		if found == nil || found[1] != named {
			t.Errorf("behind %s stands %s", named, line)
		}
	}
}

func TestPrometheusReadsTheStatistics(t *testing.T) {
	t.Parallel()
	w, _, _ := measured(t)
	one, other := w.stats(), w.stats()
	other.Root = "/odd \"root\"\\\nwith lines\xff"
	var text bytes.Buffer
	if err := broker.Prometheus(&text, broker.Stats{Stats: one}, broker.Stats{Stats: other}); err != nil {
		t.Fatal(err)
	}
	wantExposition(t, text.String())
	for _, want := range []string{
		`c2c_obligations{root="` + w.Root() + `",state="overdue"} 1`,
		`c2c_obligations{root="` + w.Root() + `",state="answered"} 2`,
		`c2c_obligations_pushed{root="/odd \"root\"\\\nwith lines?",surface_support="full"} 2`,
		`c2c_obligation_observe_seconds{root="` + w.Root() + `",surface_support="full",quantile="0.95"} 20`,
	} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("no line %s in\n%s", want, &text)
		}
	}
	var same bytes.Buffer
	if err := broker.Prometheus(&same, broker.Stats{Stats: one}); err != nil || !strings.Contains(text.String(), strings.Split(same.String(), "\n")[2]) {
		t.Errorf("%v, %s", err, &same)
	}
}

func TestARootWithoutObligationsHasStatistics(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.send(amber, "birch", "x")
	st := w.stats()
	var text bytes.Buffer
	if err := broker.Prometheus(&text, broker.Stats{Stats: st}); err != nil || st.Open != 0 || st.Over == nil || st.Surfaces == nil || !strings.Contains(text.String(), `state="open"} 0`) {
		t.Errorf("stats %+v, %v, %s", st, err, &text)
	}
}

// Of what was never handed over, nobody knows how long that took.
func TestPrometheusHasNoTimeOfWhatWasNotHandedOver(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	err := broker.Prometheus(&text, broker.Stats{Stats: owed.Stats{Surfaces: []owed.SurfaceStats{{Surface: sessions.SurfaceFull, Sent: 1}}}})
	if err != nil || strings.Contains(text.String(), "quantile") {
		t.Errorf("%v, %s", err, &text)
	}
}

// What is over does not grow for ever.
func TestWhatIsOverIsForgottenAtSomeTime(t *testing.T) {
	t.Parallel()
	w, _, birch, _ := asks(t, mail.Message{Kind: "question"})
	dir, err := w.Dir().Sub(owed.Directory, true)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for i := range 12 {
		var lines []byte
		for j := range 1000 {
			d := owed.NewRecord(mail.Message{From: "amber", To: "birch", Kind: "task", ID: "m-" + strings.Repeat("x", i+1) + mail.NewID(w.clock), TS: float64(1 + i*1000 + j), Due: 1e9})
			d.Session, d.How, d.ClosedAt = birch.ID, owed.Answered, w.clock
			line, err := d.Format()
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line...)
		}
		owed.KeepClosed(w.Registry, dir, lines)
	}
	size := 0
	for _, name := range []string{owed.ClosedFile, owed.ClosedOld} {
		data, err := dir.ReadIf(name)
		if err != nil || len(data) == 0 && name == owed.ClosedOld {
			t.Fatal(len(data), err)
		}
		size += len(data)
	}
	if n := w.stats().Over[owed.Answered]; size > 3*closedMax || n < 2000 || n >= 12_000 {
		t.Errorf("%d bytes, %d counted", size, n)
	}
}
