package sessions

import (
	"c2c/inbox"
	"c2c/inbox/mail"
)

// Authors finds the session that wrote a message. A message always has the alias that its sender
// had when it sent the message. It has the id of the sender's session only if the sender chose the
// message's id, because two sessions may choose the same id. Authors remembers what it has looked up,
// so use one for many messages. Only one goroutine may use it.
type Authors struct {
	Rows    []Row
	reg     *Registry
	holders map[string]holder         // by folded alias
	former  map[string][]formerHolder // by folded alias; nil: not read yet
}

// holder is the session that has an alias now.
type holder struct {
	own    Row     // its row; nil: no session or several have the alias
	since  float64 // own has had the alias since this time
	chosen float64 // when own, or the session that own took over from, chose the alias: earlier messages are from others; 0: not known
}

// formerHolder is a session that had an alias.
type formerHolder struct {
	own   Row
	until float64 // the time when it gave up the alias
}

// Authors returns an Authors for these rows.
func (reg *Registry) Authors(rows []Row) *Authors {
	return &Authors{Rows: rows, reg: reg, holders: map[string]holder{}}
}

// Of returns the row of the session that sent a message; nil: not known. If the message has the id
// of its sender's session, this session is the sender. Otherwise the sender is the session that had
// the message's alias when the message was sent, even if that session has another alias now. A
// session that chose the alias later is not the sender.
func (a *Authors) Of(m mail.Message) Row {
	if m.From == SystemAlias {
		return nil // c2c itself wrote the message, even if the message names a session: a post on its way to another machine names one
	}
	if r := Elsewhere(m); r != nil && len(Holders(a.Rows, m.From)) == 0 {
		return r // check this before FromSession, because a session here may have the id that the relay gave to the sender on the other machine
	}
	if i := FindSID(a.Rows, m.FromSession); m.FromSession != "" && i >= 0 {
		return a.Rows[i]
	}
	if h := a.holder(m.From); h.own != nil && h.since <= m.TS {
		return h.own // the facts of all other sessions cannot change this answer, so they are not read
	}
	var best formerHolder
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
	return a.reg.Receiver(a.Rows, m.From)
}

// holder returns the session that has an alias now. It has had the alias since it registered or was
// last renamed.
func (a *Authors) holder(alias string) holder {
	alias = Fold(alias)
	h, there := a.holders[alias]
	if all := Holders(a.Rows, alias); !there && len(all) == 1 {
		facts := a.reg.Facts.Of(all[0].SID())
		h = holder{all[0], all[0].Number("registered_at"), facts.AliasSince}
		for _, f := range facts.Former {
			h.since = max(h.since, f.Until)
		}
		if h.chosen > mail.Seconds(a.reg.Now()) { // the clock was wrong
			h.chosen = 0
		}
	}
	a.holders[alias] = h
	return h
}

// formerly returns the sessions that had an alias and have another one now. It reads the facts of
// all sessions, once.
func (a *Authors) formerly(alias string) []formerHolder {
	if a.former == nil {
		a.former = map[string][]formerHolder{}
		for _, r := range a.Rows {
			for _, f := range a.reg.Facts.Of(r.SID()).Former {
				a.former[Fold(f.Alias)] = append(a.former[Fold(f.Alias)], formerHolder{r, f.Until})
			}
		}
	}
	return a.former[Fold(alias)]
}

// HasTakenOver reports whether the session of row r has taken over from the session sid: sid has no
// row any more, r has the alias, and the facts of both have the same AliasSince.
func (a *Authors) HasTakenOver(r Row, sid, alias string) bool {
	return Fold(r.Alias()) == Fold(alias) && FindSID(a.Rows, sid) < 0 && a.reg.Facts.Of(r.SID()).AliasSince == a.reg.Facts.Of(sid).AliasSince
}

// IsReply reports whether the asked session, which has or had this alias, has written m, which
// names the question (InReplyTo). A session that has taken over from the asked one may write it,
// too. A reply ends the wait of c2c ask.
func (a *Authors) IsReply(asked, alias string, m mail.Message) bool {
	if m.InReplyTo == "" || m.Kind == mail.KindSystem || m.From == SystemAlias {
		return false
	}
	r := a.Of(m)
	if r == nil { // the session is gone, and no other has its alias
		return FindSID(a.Rows, asked) < 0 && Fold(m.From) == Fold(alias)
	}
	return r.SID() == asked || a.HasTakenOver(r, asked, alias)
}

// Wrote reports whether a session wrote a message.
func (a *Authors) Wrote(sid string, m mail.Message) bool {
	r := a.Of(m)
	return r != nil && r.SID() == sid
}

// WrittenBy makes a query for the messages that a session wrote.
func (a *Authors) WrittenBy(s Session, limit int) inbox.Query {
	names := []string{s.ID, s.Alias}
	for _, f := range s.Facts.Former {
		names = append(names, f.Alias)
	}
	return inbox.Query{
		Holds: mail.HoldsSender(names),
		Match: func(m mail.Message) bool { return a.Wrote(s.ID, m) }, Limit: limit,
	}
}
