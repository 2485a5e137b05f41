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

// Position is a place in the order of all messages: the time of a message, and its fingerprint to
// order messages of the same time. A Broker keeps no state for a Position, so a caller that pages
// through the past can continue at any time.
type Position struct {
	TS          float64
	Fingerprint mail.Fingerprint
}

// Latest is the position after all messages.
var Latest = Position{TS: math.Inf(1)}

// PositionOf returns the position of a message.
func PositionOf(m mail.Message) Position { return Position{m.TS, m.Fingerprint()} }

func (m Position) compare(other Position) int {
	return cmp.Or(cmp.Compare(m.TS, other.TS), bytes.Compare(m.Fingerprint[:], other.Fingerprint[:]))
}

// HistoryBefore returns the newest messages before a position, newest first: waiting and read ones,
// and dead letters. It searches the mail of all sessions, or only the messages that the session sid
// has sent or received. The result more is true if there are older messages. The error names the
// mailboxes that could not be read; the messages of all other mailboxes are returned all the same.
func (b *Broker) HistoryBefore(ctx context.Context, sid string, before Position, limit int) (all []Mail, more bool, err error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return nil, false, err
	}
	own := b.Authors(rows)
	newest := &newest{limit: limit + 1}
	// An archive has its messages in the order in which they were read, so an older line may have a
	// newer message. Therefore all lines must be searched. A message that cannot be among the
	// newest is not parsed, and needs no memory.
	mayBe := func(ts float64) bool { return ts <= before.TS && (!newest.isFull() || ts >= newest.all[limit].TS) }
	found := b.collector()
	err = b.search(ctx, func(box string) inbox.Query {
		return inbox.Query{Limit: math.MaxInt, MayBeOf: mayBe, Match: func(m mail.Message) bool {
			if sid != "" && box != sid && !own.Wrote(sid, m) {
				return false
			}
			if !mayBe(m.TS) {
				return false // saves computing the fingerprint
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

// newest keeps the latest of all added positions, up to a limit, the latest first.
type newest struct {
	limit int
	all   []Position
}

func (n *newest) isFull() bool { return len(n.all) == n.limit }

// add adds a position if it is among the newest so far, and reports whether it is. It also returns
// true for a position that n has already: of two copies of a message, the collector keeps one.
func (n *newest) add(at Position) bool {
	i, there := slices.BinarySearchFunc(n.all, at, func(one, at Position) int { return at.compare(one) })
	if there {
		return true
	}
	if i >= n.limit {
		return false
	}
	n.all = slices.Insert(n.all, i, at)
	n.all = n.all[:min(len(n.all), n.limit)]
	return true
}
