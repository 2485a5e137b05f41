package broker

import (
	"sync"

	"c2c/inbox"
)

// authors tells whose session wrote a message. A message carries the alias that its sender had then, and the session
// only when the sender chose the id.
type authors struct {
	b    *Broker
	rows []row
	*known
}

// known is what was read to tell it.
type known struct {
	mu      sync.Mutex
	holders map[string]holder   // by folded alias
	former  map[string][]period // by folded alias; nil: not read yet
}

// holder is the session that has an alias now, and since when nobody else can have had it.
type holder struct {
	own    row // nil: nobody, or several
	since  float64
	chosen float64 // what the alias said before is of a session that has ended; 0: of this one, or of one that it follows
}

// period is the end of a session's time with an alias.
type period struct {
	own   row
	until float64
}

// authors is for rows that were read together: whoever looks at many messages asks it of each.
func (b *Broker) authors(rows []row) authors {
	b.lastAuthors.mu.Lock()
	defer b.lastAuthors.mu.Unlock()
	if last := b.lastAuthors.of; len(rows) > 0 && len(last.rows) == len(rows) && &last.rows[0] == &rows[0] {
		return last
	}
	b.lastAuthors.of = authors{b, rows, &known{holders: map[string]holder{}}}
	return b.lastAuthors.of
}

// lastAuthors are those of the rows that were asked about last.
type lastAuthors struct {
	mu sync.Mutex
	of authors
}

// of gives the row of the session that chose the id, else of the one that had the alias then and has another one now,
// else of the one that has the alias, unless it has chosen that later: it may have taken over the other's work. nil: nobody.
func (a authors) of(m inbox.Message) row {
	if i := findSID(a.rows, m.FromSession); m.FromSession != "" && i >= 0 {
		return a.rows[i]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if h := a.holder(m.From); h.own != nil && h.since <= m.TS {
		return h.own // the facts of all others would say nothing else
	}
	var best period
	for _, p := range a.formerly(m.From) {
		if m.TS < p.until && (best.own == nil || p.until < best.until) {
			best = p
		}
	}
	if best.own != nil {
		return best.own
	}
	if h := a.holder(m.From); 0 < m.TS && m.TS < h.chosen {
		return nil
	}
	return a.b.receiver(a.rows, m.From)
}

// holder reads the facts of the session that has an alias: it has it since it was registered, or since it was called otherwise.
func (a authors) holder(alias string) holder {
	alias = fold(alias)
	h, there := a.holders[alias]
	if all := holders(a.rows, alias); !there && len(all) == 1 {
		facts := a.b.factsOf(all[0].sid())
		h = holder{all[0], all[0].number("registered_at"), facts.AliasSince}
		for _, f := range facts.Former {
			h.since = max(h.since, f.Until)
		}
		if h.chosen > inbox.Seconds(a.b.now()) { // by a clock that was wrong
			h.chosen = 0
		}
	}
	a.holders[alias] = h
	return h
}

// formerly gives the sessions that had an alias and have another one. It reads the facts of all sessions, once.
func (a authors) formerly(alias string) []period {
	if a.former == nil {
		a.former = map[string][]period{}
		for _, r := range a.rows {
			for _, f := range a.b.factsOf(r.sid()).Former {
				a.former[fold(f.Alias)] = append(a.former[fold(f.Alias)], period{r, f.Until})
			}
		}
	}
	return a.former[fold(alias)]
}

// follows says whether the row's session goes on with the work of another, which is gone: it has its alias, from the time when that
// one chose it.
func (a authors) follows(r row, sid, alias string) bool {
	return fold(r.alias()) == fold(alias) && findSID(a.rows, sid) < 0 && a.b.factsOf(r.sid()).AliasSince == a.b.factsOf(sid).AliasSince
}

// are says whether a session wrote a message.
func (a authors) are(sid string, m inbox.Message) bool {
	r := a.of(m)
	return r != nil && r.sid() == sid
}

// names are the aliases that a session has and had.
func (a authors) names(s Session) (names []string) {
	names = []string{s.Alias}
	for _, f := range s.facts.Former {
		names = append(names, f.Alias)
	}
	return names
}
