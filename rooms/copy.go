package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// Ask records in the copy of a room that a session has asked to join, and makes the copy if there
// is none. If the result already is set, the session is a member; if again is set, it has asked
// before. A new copy is private until the home has sent the list of members, because posts may come
// before the list.
func (st Store) Ask(ctx context.Context, name string, a Asked) (already, again bool, err error) {
	if _, host := HostOf(name); host == "" {
		return false, false, fmt.Errorf("room %q is here", name)
	}
	if err := CheckName(name); err != nil {
		return false, false, err
	}
	for range 3 { // if another process archives the copy meanwhile, make a new one
		if already, again, err = st.ask(ctx, name, a); !errors.Is(err, ErrNoRoom) {
			break
		}
	}
	return already, again, err
}

func (st Store) ask(ctx context.Context, name string, a Asked) (already, again bool, err error) {
	r, err := st.OpenOrCreate(ctx, name, a.Alias, true)
	if err != nil {
		return false, false, err
	}
	defer r.Close()
	rows, err := r.rows()
	if err != nil || sessions.FindSID(rows, a.SID) >= 0 {
		return err == nil, false, err
	}
	var gone error
	err = r.changeOwn(ctx, func(o *own) {
		if gone = r.gone(); gone != nil {
			return
		}
		_, again = o.Asked[a.SID]
		o.Asked[a.SID] = a
	})
	return false, again, errors.Join(err, gone)
}

// SetList gives a copy the members of the home's list. A session of this machine becomes a member
// only if it was a member or has asked to join. If no session needs the copy any more, the copy is
// archived.
func (r *Room) SetList(ctx context.Context, private bool, list []Entry) error {
	_, host := HostOf(r.Name)
	o, err := r.own()
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	before, err := r.rows()
	if err != nil {
		return err
	}
	var rows []sessions.Row
	for _, e := range list {
		if row := r.rowOf(host, e, before, o.asked()); row != nil {
			rows = append(rows, row)
		}
	}
	fresh, gone := onlyIn(rows, before), onlyIn(before, rows)
	here := func(sid string) bool { return !IsOn(host, sid) }
	fresh = slices.DeleteFunc(fresh, func(sid string) bool { return !here(sid) })
	for _, sid := range fresh { // this must come before the rows are written, see enter
		err = errors.Join(err, r.enter(ctx, sid))
	}
	if err == nil {
		err = r.changeOwn(ctx, func(o *own) {
			for _, sid := range gone {
				delete(o.Levels, sid)
			}
		})
	}
	if err == nil {
		err = r.change(ctx, func([]sessions.Row) []sessions.Row { return rows })
	}
	if err == nil {
		err = r.ChangeMeta(ctx, func(m *Meta) { m.Private, m.Invited = private, nil })
	}
	if err == nil { // this must come last: after a kill, the next list then completes the rest
		asked := o.Asked
		err = r.changeOwn(ctx, func(o *own) {
			maps.DeleteFunc(o.Asked, func(sid string, a Asked) bool { // a session that has asked meanwhile stays
				return asked[sid] == a && sessions.FindSID(rows, sid) >= 0
			})
		})
	}
	for _, sid := range gone {
		if here(sid) {
			err = errors.Join(err, r.st.leave(ctx, sid, r.Name))
		}
	}
	if err == nil {
		err = archiveUnused(ctx, r)
	}
	return err
}

// onlyIn returns the sessions that are in rows, but not in others.
func onlyIn(rows, others []sessions.Row) (sids []string) {
	for _, row := range rows {
		if sessions.FindSID(others, row.SID()) < 0 {
			sids = append(sids, row.SID())
		}
	}
	return sids
}

// rowOf makes the row of a member of a copy. It returns nil for a session of this machine that is
// no member and has not asked.
func (r *Room) rowOf(host string, e Entry, before []sessions.Row, asked []Asked) sessions.Row {
	if !e.Own {
		sid := mail.RemoteSession(host, e.SID, e.Alias)
		if i := sessions.FindSID(before, sid); i >= 0 && before[i].Alias() == AliasAt(host, e.Alias) {
			return before[i]
		}
		return newRow(sid, AliasAt(host, e.Alias), mail.Seconds(r.st.Now()))
	}
	if i := slices.IndexFunc(before, func(row sessions.Row) bool { return IsSession(e.SID, row.SID()) }); i >= 0 {
		return before[i]
	}
	// If a session has left and asked again, a list with its former membership is no answer to the
	// new wish. So compare the wishes.
	if i := slices.IndexFunc(asked, func(a Asked) bool {
		return IsSession(e.SID, a.SID) && (a.Wish == e.Wish || a.Wish == "" || e.Wish == "")
	}); i >= 0 {
		return newRow(asked[i].SID, asked[i].Alias, mail.Seconds(r.st.Now()))
	}
	return nil
}

// IsSession reports whether told, an id from another machine, means the session sid of this
// machine. If sid is long, told may be a hash of it.
func IsSession(told, sid string) bool { return told == sid || told == mail.ShortSession(sid) }

func newRow(sid, alias string, now float64) sessions.Row {
	var row sessions.Row
	row.SetText("alias", alias)
	row.SetText("session_id", sid)
	row.SetTime("joined_at", now)
	return row
}

// Withdraw ends a session's membership of a copy, or its wish to join. If no session needs the copy
// any more, the copy is archived.
func (r *Room) Withdraw(ctx context.Context, sid string) error {
	err := r.remove(ctx, func(row sessions.Row) bool { return row.SID() == sid })
	if err == nil {
		err = r.changeOwn(ctx, func(o *own) {
			delete(o.Levels, sid)
			delete(o.Asked, sid)
		})
	}
	if err = errors.Join(err, r.st.leave(ctx, sid, r.Name)); err == nil {
		err = archiveUnused(ctx, r)
	}
	return err
}

// archiveUnused archives a copy if no session of this machine is in it or has asked to join. A
// session that asks at this moment waits for the lock, and then makes a new copy.
func archiveUnused(ctx context.Context, r *Room) error {
	if used, err := isUsed(r); err != nil || used {
		return err
	}
	err := r.st.archiveIf(ctx, r.Name, func(*Room) (bool, error) {
		replaced, err := r.dir.Replaced()
		if err != nil || replaced {
			return false, err
		}
		used, err := isUsed(r)
		return !used, err
	})
	if errors.Is(err, ErrNoRoom) {
		return nil
	}
	return err
}

// archiveIf archives a copy if isDue returns true for it. While isDue runs, no session can join the
// copy, or ask to join.
func (st Store) archiveIf(ctx context.Context, name string, isDue func(*Room) (bool, error)) error {
	return atomicfile.WithLock(ctx, st.Root, LockName, func() error {
		r, err := st.Open(name)
		if err != nil {
			return err
		}
		defer r.Close()
		return atomicfile.WithLock(ctx, r.dir, membersLock, func() error {
			due, err := isDue(r)
			if err == nil && due {
				_, err = st.archive(name)
			}
			return err
		})
	})
}

// CloseCopy archives a copy whose room was closed. A session that waits for an answer may have
// asked to join a later room with this name. Therefore it continues to wait, in a new copy.
func (st Store) CloseCopy(ctx context.Context, name string) error {
	var asked []Asked
	err := st.archiveIf(ctx, name, func(r *Room) (_ bool, err error) {
		asked, err = r.Asked()
		return true, err
	})
	for _, a := range asked {
		if err == nil {
			_, _, err = st.Ask(ctx, name, a)
		}
	}
	return err
}

// isUsed reports whether a session of this machine is in a copy, or has asked to join.
func isUsed(r *Room) (bool, error) {
	here, err := membersHere(r)
	asked, aerr := r.Asked()
	return len(here)+len(asked) > 0, errors.Join(err, aerr)
}

// membersHere returns the members of a copy that are sessions of this machine.
func membersHere(r *Room) (here []Asked, err error) {
	rows, err := r.rows()
	_, host := HostOf(r.Name)
	for _, row := range rows {
		if !IsOn(host, row.SID()) {
			here = append(here, Asked{SID: row.SID(), Alias: row.Alias()})
		}
	}
	return here, err
}

// AddCopies appends posts of the home to a copy, in one commit. With mayRepeat, it leaves out posts
// that are in the copy already.
func (r *Room) AddCopies(ctx context.Context, posts []Post, mayRepeat bool) error {
	return atomicfile.WithLock(ctx, r.dir, historyLock, func() error {
		if err := r.gone(); err != nil {
			return err
		}
		had := map[string]bool{}
		if mayRepeat {
			h, err := r.history()
			if err != nil {
				return err
			}
			_, err = h.posts(max(0, h.size-maxRead), h.size, func(p Post) bool {
				had[p.ID] = true
				return true
			})
			h.Close()
			if err != nil {
				return err
			}
		}
		var lines []byte
		for _, p := range posts {
			if !had[p.ID] {
				lines = append(lines, p.line()...)
			}
		}
		if len(lines) == 0 {
			return nil
		}
		if err := r.dir.AppendLines(historyName, lines); err != nil {
			return fmt.Errorf("add posts to room %q: %w", r.Name, err)
		}
		return nil
	})
}

// ParsePost reads a line with a post of another machine, and checks the post. If the line has no
// text, the argument text is the text of the post.
func ParsePost(line []byte, text string) (Post, error) {
	p, err := parsePost(line)
	p.Content = cmp.Or(p.Content, text)
	if err == nil {
		err = p.Check()
	}
	return p, err
}
