package main

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Each row is measured in rounds. A round has the figure, its limit, and what is compared with it, one after the other,
// so that a load on the machine is on all of them; every second round goes backwards. What others do on the machine
// only adds to a time, and to all times alike, which would make every ratio look like 1. So the ratio is that of the lower quartiles.
const (
	warmUps   = 2
	fewest    = 15                // rounds
	most      = 800               // rounds
	allRows   = 210 * time.Second // for all of them; the templates and the HTTP daemon come on top
	soon      = 2 * time.Second   // how long a row takes whose verdict is clear
	usual     = 5 * time.Second   // how long it goes on while it is not
	certainty = 3                 // standard deviations: 99.7 %
	resamples = 200
	block     = 4    // rounds that follow each other are drawn together, because a load lasts
	slowdown  = 1.05 // more than this, against before, is slower
)

// action does what is measured, in a world, and returns its figures: milliseconds, when the row says nothing else.
type action func(*world) ([]float64, error)

// row is a thing to measure.
type row struct {
	name    string
	do      action
	limit   string // what against does; "" when the aim is one of the figure itself
	against action
	aim     float64 // of the ratio, or of the figure
	reason  string  // why it is above its aim

	unit string // "" is ms
	root string // the mail it begins with, see templates
	anew int    // after so many rounds it has that mail again; 0: never
	most int    // rounds; 0: as many as are useful
	// how long it may take until its verdict is clear; 0: as usual
	patience time.Duration
	with     func(*world) error // begins what runs meanwhile
	beside   action             // the same with the other program
}

// result is what a row has shown.
type result struct {
	row
	got, base                []float64 // all figures, of the limit too
	ratios, before           spread
	besideValue, beforeValue float64
	rounds                   int
	skipped                  error // why there is no comparison with before
}

// spread is a ratio, and between what it is by all likelihood.
type spread struct{ low, mid, high float64 }

// above says whether the row is above its aim beyond doubt.
func (r result) above() bool { return r.aim > 0 && r.ratios.low > r.aim }

func (r result) slower() bool { return r.before.low > slowdown }

// clear says whether more rounds would change nothing.
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

// share is how long a row may take when all that are left are to be measured in time. Most take less than their share.
func (b *bench) share() time.Duration { return 2 * time.Until(b.end) / time.Duration(max(1, b.left)) }

// rounds measures the sides in turn until there was enough, which is asked less and less often.
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

// side is one of the things that are measured in turn.
type side struct {
	do     action
	in     *world
	rounds []float64 // the median of each
	all    []float64
}

// round measures each side once; a negative one does not count.
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

// compare gives the ratio of the lower quartiles, and how far off it may be: other ratios come out of rounds that are drawn from
// these. Without b it is the quartile of a.
func compare(a, b []float64) spread {
	mid := quartile(a) / quartile(b)
	drawn := make([]float64, resamples)
	random := rand.New(rand.NewPCG(1, 2)) // the same each time
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

// quartile is 1 of nothing.
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
