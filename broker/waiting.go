package broker

import (
	"cmp"
	"slices"

	"c2c/broker/owed"
	"c2c/sessions"
)

// Waiting says that a session waits for answers of another one.
type Waiting struct {
	Oldest  Obligation // the question that was sent first
	Count   int        // number of questions
	Overdue int        // number of those that are overdue
	Circle  bool       // the session that is to answer waits for the other one, too, perhaps through others
}

// WhoWaits returns who waits for whom, the longest wait first, from open obligations. It returns at
// most limit pairs of sessions, and how many more there are.
func WhoWaits(open []Obligation, limit int) (all []Waiting, more int) {
	type pair struct{ from, to string }
	at := map[pair]int{}
	asks := map[string][]string{}
	for _, o := range open {
		p := pair{sessions.Fold(o.From), sessions.Fold(o.To)}
		i, known := at[p]
		if !known {
			i = len(all)
			at[p], all = i, append(all, Waiting{Oldest: o})
			asks[p.from] = append(asks[p.from], p.to)
		}
		w := &all[i]
		if w.Count++; o.SentAt.Before(w.Oldest.SentAt) {
			w.Oldest = o
		}
		if o.State == owed.Overdue {
			w.Overdue++
		}
	}
	slices.SortStableFunc(all, func(a, b Waiting) int {
		return cmp.Or(a.Oldest.SentAt.Compare(b.Oldest.SentAt), cmp.Compare(a.Oldest.ID, b.Oldest.ID))
	})
	more = max(0, len(all)-limit)
	all = all[:len(all)-more]
	for i := range all {
		all[i].Circle = leadsTo(asks, sessions.Fold(all[i].Oldest.To), sessions.Fold(all[i].Oldest.From))
	}
	return all, more
}

// leadsTo reports whether one session waits for another one, directly or through others.
func leadsTo(asks map[string][]string, from, to string) bool {
	seen := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		if next[0] == to {
			return true
		}
		for _, other := range asks[next[0]] {
			if !seen[other] {
				seen[other] = true
				next = append(next, other)
			}
		}
	}
	return false
}
