package broker

import (
	"fmt"
	"testing"
	"time"

	"c2c/broker/owed"
)

func TestWhoWaitsForWhom(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	var open []Obligation
	ask := func(from, to string, minute int, state string) {
		open = append(open, Obligation{ID: fmt.Sprint(len(open)), From: from, To: to, SentAt: began.Add(time.Duration(minute) * time.Minute), State: state})
	}
	ask("amber", "birch", 9, owed.StillOpen)
	ask("Amber", "birch", 3, owed.Overdue)
	ask("birch", "coral", 4, owed.StillOpen)
	ask("coral", "amber", 5, owed.StillOpen)
	ask("dune", "amber", 1, owed.StillOpen) // leads into the circle, and is no part of it
	ask("elm", "elm", 6, owed.StillOpen)
	var got []string
	all, more := WhoWaits(open, 4)
	for _, w := range all {
		got = append(got, fmt.Sprintf("%s>%s %d %d %v", w.Oldest.From, w.Oldest.To, w.Count, w.Overdue, w.Circle))
	}
	if want := "[dune>amber 1 0 false Amber>birch 2 1 true birch>coral 1 0 true coral>amber 1 0 true]"; fmt.Sprint(got) != want || more != 1 {
		t.Errorf("%v and %d more, want %s", got, more, want)
	}
}
