package broker

import "c2c/inbox"

// authors tells whose session wrote a message. A message carries the alias that its sender had then, and the session
// only when the sender chose the id.
type authors struct {
	b      *Broker
	rows   []row
	former map[string][]period // by folded alias
}

// period is the end of a session's time with an alias.
type period struct {
	own   row
	until float64
}

// authors reads the facts of all sessions, once for rows that were read together: whoever looks at many messages asks it of
// each.
func (b *Broker) authors(rows []row) authors {
	b.authorsMu.Lock()
	defer b.authorsMu.Unlock()
	if last := b.lastAuthors; len(rows) > 0 && len(last.rows) == len(rows) && &last.rows[0] == &rows[0] {
		return last
	}
	a := authors{b, rows, map[string][]period{}}
	b.lastAuthors = a
	for _, r := range rows {
		for _, f := range b.factsOf(r.sid()).Former {
			a.former[fold(f.Alias)] = append(a.former[fold(f.Alias)], period{r, f.Until})
		}
	}
	return a
}

// of gives the row of the session that chose the id, else of the one that had the alias then and has another one now,
// else of the one that has the alias: it may have taken over the other's work. nil: nobody.
func (a authors) of(m inbox.Message) row {
	if i := findSID(a.rows, m.FromSession); m.FromSession != "" && i >= 0 {
		return a.rows[i]
	}
	var best period
	for _, p := range a.former[fold(m.From)] {
		if m.TS < p.until && (best.own == nil || p.until < best.until) {
			best = p
		}
	}
	if best.own != nil {
		return best.own
	}
	return a.b.receiver(a.rows, m.From)
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
