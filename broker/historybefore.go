package broker

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"c2c/inbox"
	"c2c/inbox/mail"
)

// Position is a place in the order of all messages: the time of one, and of several at that time its trace. Nothing is kept of
// it, so whoever pages through the past can go on after any time.
type Position struct {
	TS          float64
	Fingerprint mail.Fingerprint
}

// Latest is behind all messages.
var Latest = Position{TS: math.Inf(1)}

// PositionOf is the place of a message.
func PositionOf(m mail.Message) Position { return Position{m.TS, m.Fingerprint()} }

func (m Position) compare(other Position) int {
	return cmp.Or(cmp.Compare(m.TS, other.TS), bytes.Compare(m.Fingerprint[:], other.Fingerprint[:]))
}

// HistoryBefore gives the newest messages that stand before a moment, newest first: all that are kept, whether they were read or wait,
// or those that the session with an id has sent and received. more says that there are others. The error says what could not
// be looked into; the rest is there all the same.
func (b *Broker) HistoryBefore(ctx context.Context, sid string, before Position, limit int) (all []Mail, more bool, err error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return nil, false, err
	}
	own := b.Authors(rows)
	newest := &newest{most: limit + 1}
	// An archive is in the order of reading, so an earlier line may be the later message, and all lines are looked at. What
	// cannot be among the newest is not parsed, and does not take memory.
	mayBe := func(ts float64) bool { return ts <= before.TS && (!newest.isFull() || ts >= newest.all[limit].TS) }
	found := b.collector()
	err = b.search(ctx, func(box string) inbox.Query {
		return inbox.Query{Limit: math.MaxInt, MayBeOf: mayBe, Match: func(m mail.Message) bool {
			if sid != "" && box != sid && !own.Are(sid, m) {
				return false
			}
			if !mayBe(m.TS) {
				return false // which spares the trace
			}
			at := PositionOf(m)
			return at.compare(before) < 0 && newest.add(at)
		}}
	}, found.add)
	sort.SliceStable(found.all, func(i, j int) bool {
		return PositionOf(found.all[j].Message).compare(PositionOf(found.all[i].Message)) < 0
	})
	return found.newest(limit), len(found.all) > limit, err
}

// newest are the latest moments of all that were added, at most so many, the latest first.
type newest struct {
	most int
	all  []Position
}

func (n *newest) isFull() bool { return len(n.all) == n.most }

// add says whether a moment is one of them so far. One that is there already is: a message may stand in two files.
func (n *newest) add(at Position) bool {
	i, there := slices.BinarySearchFunc(n.all, at, func(one, at Position) int { return at.compare(one) })
	if there {
		return true
	}
	if i >= n.most {
		return false
	}
	n.all = slices.Insert(n.all, i, at)
	n.all = n.all[:min(len(n.all), n.most)]
	return true
}
