package main

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// bench measures each row in rounds. A round measures the row's action, its limit and the other
// sides one after the other, so that load on the machine affects all of them; every second round
// measures them in the opposite order. The load of other programs adds about the same to all times,
// and so moves every ratio towards 1. So bench compares the lower quartiles.
const (
	warmUps   = 2
	fewest    = 15                // rounds
	most      = 800               // rounds
	allRows   = 210 * time.Second // the time for all rows, without the templates and the HTTP daemon
	soon      = 2 * time.Second   // time for a row with a clear verdict
	usual     = 5 * time.Second   // time for a row without a clear verdict
	certainty = 3                 // standard deviations: 99.7 %
	resamples = 200
	block     = 4    // consecutive rounds to draw together, because load lasts for several rounds
	slowdown  = 1.05 // above this ratio a row counts as slower than before
)

// action does the measured work in a world, and returns its figures: milliseconds, unless the row
// has another unit.
type action func(*world) ([]float64, error)

// row is one measurement.
type row struct {
	name    string
	do      action
	limit   string  // describes the field against; "" if the aim is for the figure itself
	against action  // nil: the row has no limit
	aim     float64 // the highest allowed ratio to the limit, or the highest allowed figure; 0: none

	unit string // "" is ms
	root string // the template of the mail at the beginning, see fill
	anew int    // make that mail again after this many rounds; 0: never
	most int    // rounds; 0: as many as are useful
	// patience is how long to measure without a clear verdict; 0: usual
	patience time.Duration
	with     func(*world) error // starts the programs that run during the row
	beside   action             // the same work with the other program
}

// result holds the measurements of a row.
type result struct {
	row
	got, base                []float64 // all figures, of the row and of its limit
	ratios, before           spread
	besideValue, beforeValue float64
	rounds                   int
	skipped                  error // why the row was not compared with the older programs
}

// spread is a ratio (mid) with its confidence interval.
type spread struct{ low, mid, high float64 }

// above reports whether the row is certainly above its aim.
func (r result) above() bool { return r.aim > 0 && r.ratios.low > r.aim }

func (r result) slower() bool { return r.before.low > slowdown }

// clear reports whether more rounds would not change the verdict.
func (r result) clear() bool {
	sure := func(s spread, aim float64) bool { return aim == 0 || s.mid == 0 || s.low > aim || s.high < aim }
	return sure(r.ratios, r.aim) && sure(r.before, slowdown)
}

// row measures one row.
func (b *bench) row(r row) (res result, err error) {
	res.row = r
	end, err := b.now.begin(r)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, end()) }()
	here, limit := &side{do: r.do, in: b.now}, &side{do: r.against, in: b.now}
	old, other := &side{do: r.do, in: b.before}, &side{do: r.beside, in: b.now}
	sides := []*side{here}
	if r.against != nil {
		sides = append(sides, limit)
	}
	if b.before != nil {
		endBefore, err := b.before.begin(r)
		if err == nil {
			defer endBefore()
			_, err = r.do(b.before)
		}
		if res.skipped = err; err == nil {
			sides = append(sides, old)
		}
	}
	if r.beside != nil && b.beside.missing == nil {
		sides = append(sides, other)
	}
	err = rounds(sides, r, func(n int, took time.Duration) (enough bool) {
		res.rounds, res.ratios = n, compare(here.rounds, limit.rounds)
		if old.rounds != nil {
			res.before = compare(here.rounds, old.rounds)
		}
		return took > min(cmp.Or(r.patience, usual), b.share()) || took > soon && res.clear()
	})
	res.got, res.base = here.all, limit.all
	res.beforeValue, res.besideValue = at(old.rounds, 50), at(other.rounds, 50)
	return res, err
}

// share returns how long a row may take, so that there is time for all rows that are left. Most
// rows take less than their share.
func (b *bench) share() time.Duration { return 2 * time.Until(b.end) / time.Duration(max(1, b.left)) }

// rounds measures the sides in turn until enough returns true. The longer it runs, the less often
// it calls enough.
func rounds(sides []*side, r row, enough func(rounds int, took time.Duration) bool) error {
	worlds := map[*world]bool{}
	for _, s := range sides {
		worlds[s.in] = true
	}
	start, ask := time.Now(), cmp.Or(r.most, fewest)
	for n := -warmUps; n < cmp.Or(r.most, most); n++ {
		if r.anew > 0 && (n+warmUps)%r.anew == 0 {
			for w := range worlds {
				if err := w.renew(r.root); err != nil {
					return err
				}
			}
		}
		if err := round(sides, n); err != nil {
			return err
		}
		if n+1 < ask {
			continue
		}
		ask += 1 + n/8
		if enough(n+1, time.Since(start)) {
			return nil
		}
	}
	return nil
}

// side is one of the actions that a round measures.
type side struct {
	do     action
	in     *world
	rounds []float64 // the median of each round
	all    []float64
}

// round measures each side once; a round with a negative number does not count.
func round(sides []*side, n int) error {
	for i := range sides {
		if n%2 != 0 {
			i = len(sides) - 1 - i
		}
		s := sides[i]
		got, err := s.do(s.in)
		if err != nil {
			return err
		}
		if n >= 0 {
			s.rounds, s.all = append(s.rounds, at(got, 50)), append(s.all, got...)
		}
	}
	return nil
}

// compare returns the ratio of the lower quartiles of a and b with its interval. It finds the
// interval by bootstrap: it draws random rounds from the measured ones. If b is empty, it compares
// a with 1.
func compare(a, b []float64) spread {
	mid := quartile(a) / quartile(b)
	drawn := make([]float64, resamples)
	random := rand.New(rand.NewPCG(1, 2)) // the same numbers each time
	for i := range drawn {
		var as, bs []float64
		for range (len(a) + block - 1) / block {
			from := random.IntN(max(1, len(a)-block+1))
			as = append(as, a[from:min(from+block, len(a))]...)
			if b != nil {
				bs = append(bs, b[from:min(from+block, len(b))]...)
			}
		}
		drawn[i] = quartile(as)/quartile(bs) - mid
	}
	var sum float64
	for _, d := range drawn {
		sum += d * d
	}
	off := certainty * math.Sqrt(sum/resamples)
	return spread{mid - off, mid, mid + off}
}

// quartile returns the lower quartile, or 1 if there are no values.
func quartile(values []float64) float64 {
	if values == nil {
		return 1
	}
	return at(values, 25)
}

func at(values []float64, percent int) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)*percent/100]
}
