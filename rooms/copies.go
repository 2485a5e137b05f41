package rooms

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/fields"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
	"c2c/sessions/registry"
)

// A room is on one machine, its home, whose history gives the order of the posts. Each other machine with members has a copy: the room
// review@devbox, to which this package appends the posts of the home. c2c.json of the home records how much of the room each machine
// was sent; c2c.json of a copy has the sessions that have asked to join.

// Sent is what another machine with members was sent of a room.
type Sent struct {
	Host string
	Name string // the room's name, as the machine knows it
	Read int64  // up to this place in the history
	List string // a hash of the list of members, as it was sent last; "": none
	// Join is a word for the machine's last join, and Old the end of the history at that time: posts before it may have gone to a former
	// copy.
	Join string
	Old  int64
}

// Asked is a session that has asked the room's home to let it join. Wish is the id of the message with which it did.
type Asked struct{ SID, Alias, Wish string }

// wishField is that id in the row of a member on another machine.
const wishField = "wish"

// Entry is a member in the list that the home sends.
type Entry struct {
	Alias string `json:"alias"`
	SID   string `json:"session"`
	Level Level  `json:"level"`
	Own   bool   `json:"own,omitempty"`  // it is on the machine to which the list goes
	Wish  string `json:"wish,omitempty"` // of such a member, see Asked
}

// AliasAt returns the name here of a session that host calls alias. The alias amber gives amber@devbox; birch@laptop, which is on a
// third machine, gives birch.laptop@devbox.
func AliasAt(host, alias string) string {
	name := strings.Replace(alias, "@", ".", 1)
	if mail.CheckAlias(name) != nil {
		name = unknownAlias(alias)
	}
	return name + "@" + host
}

// unknownAlias makes a name for a session whose alias is unknown or invalid.
func unknownAlias(id string) string { return "session-" + mail.ShortSession(id)[:8] }

// IsOn reports whether a session is on this other machine.
func IsOn(host, sid string) bool { return strings.HasPrefix(sid, "r-"+host+".") }

// SessionOn returns the id that a machine itself gives to its session, or a hash of a long id; false if the session is not on this
// machine.
func SessionOn(host, sid string) (string, bool) { return strings.CutPrefix(sid, "r-"+host+".") }

// Hosts returns the other machines with members; none for a copy. It takes the machines from the list of members, because c2c.json may
// be lost, or a kill may have come before c2c.json was changed. A machine that is not in c2c.json gets the newest posts.
func (r *Room) Hosts() (all []Sent, err error) {
	o, err := r.own()
	if err != nil && !errors.Is(err, errDamaged) {
		return nil, err
	}
	if _, home := HostOf(r.Name); home != "" {
		return nil, nil
	}
	rows, err := r.rows()
	for _, row := range rows {
		_, host, far := mail.SplitAddress(row.Alias())
		is := func(s Sent) bool { return s.Host == host }
		if !far || !IsOn(host, row.SID()) || slices.ContainsFunc(all, is) {
			continue
		}
		s := Sent{Host: host, Name: r.Name}
		if k := slices.IndexFunc(o.hosts(), is); k >= 0 {
			s = o.hosts()[k]
		} else if s.Read, err = r.placeBefore(backlog); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, err
}

// AreShared reports whether the root at a path has a room with members on other machines; true also if it cannot find out.
func AreShared(root string) bool {
	dir, err := atomicfile.Open(root)
	if err != nil {
		return true
	}
	defer dir.Close()
	st := Store{Root: dir, Now: time.Now, Log: inbox.NoLog}
	names, err := st.Names()
	return err != nil || slices.ContainsFunc(names, func(name string) bool {
		r, err := st.Open(name)
		if err != nil {
			return true
		}
		defer r.Close()
		hosts, err := r.Hosts()
		return err != nil || len(hosts) > 0
	})
}

// Asked returns the sessions that wait for an answer of the room's home.
func (r *Room) Asked() ([]Asked, error) {
	o, err := r.own()
	return o.asked(), err
}

// JoinFrom makes a session of another machine a member: sid and alias are as that machine's mail has them. The machine is sent the
// newest posts, which come before the session's place. wish is the id of its message.
func (r *Room) JoinFrom(ctx context.Context, host, sid, alias, wish string, level Level) error {
	if !mail.ValidName(sid) || !IsOn(host, sid) {
		return fmt.Errorf("join room %q: %q is no session of %s", r.Name, sid, host)
	}
	meta, err := r.Meta()
	if err != nil {
		return err
	}
	rows, err := r.rows()
	if err != nil {
		return err
	}
	if registry.FindSID(rows, sid) < 0 && meta.Private && !meta.Invites(alias) {
		return fmt.Errorf("join room %q: %w", r.Name, ErrPrivate)
	}
	row := newRow(sid, alias, mail.Seconds(r.st.Now()))
	row.SetText(wishField, wish)
	if more := append(slices.Clone(rows), row); registry.FindSID(rows, sid) < 0 && len(registry.Format(more)) > maxMembers {
		return errFull(r, len(rows)) // before c2c.json is changed: refused joins must not fill it
	}
	begin, err := r.placeBefore(backlog)
	if err != nil {
		return err
	}
	end, err := endOf(r)
	if err != nil {
		return err
	}
	first := !slices.ContainsFunc(rows, func(row registry.Row) bool { return IsOn(host, row.SID()) })
	err = r.changeOwn(ctx, func(o *own) {
		o.set(sid, level)
		if first { // a kill may have left the record of an earlier membership
			o.dropHost(host)
		}
		all := o.hosts()
		if i := slices.IndexFunc(all, func(s Sent) bool { return s.Host == host }); i >= 0 {
			all[i].List = "" // send the list again, because the machine may have lost its copy
		} else {
			all = append(all, Sent{Host: host, Name: r.Name, Read: begin, Join: mail.NewID(r.st.Now())[:13], Old: end})
		}
		o.setHosts(all)
	})
	if err == nil {
		err = r.putRow(ctx, sid, alias, wish, nil)
	}
	if err == nil {
		err = r.AliasFrom(ctx, sid, alias)
	}
	if err == nil && meta.Private {
		err = r.uninvite(ctx, alias)
	}
	return err
}

// backlog is the number of older posts that a machine gets when its first session joins.
const backlog = 100

// placeBefore returns the place in the history before the newest n posts.
func (r *Room) placeBefore(n int) (int64, error) {
	h, err := r.history()
	if err != nil {
		return 0, err
	}
	defer h.Close()
	from := max(0, h.size-maxPart)
	place := from
	if _, err = h.posts(from, h.size, func(p Post) bool {
		place, n = p.end, n-1
		return n >= 0
	}); n >= 0 {
		place = from
	}
	return place, err
}

// endOf returns the place after the last post of a room.
func endOf(r *Room) (int64, error) {
	h, err := r.history()
	if err != nil {
		return 0, err
	}
	defer h.Close()
	return h.end()
}

// LeaveFrom ends the membership of a session of another machine. If the machine then has no members, it is sent nothing more.
func (r *Room) LeaveFrom(ctx context.Context, host, sid, alias string) error {
	if meta, err := r.Meta(); err == nil && meta.Private {
		if err := r.inviteBack(ctx, sid, alias); err != nil {
			return err
		}
	}
	others := false
	err := r.change(ctx, func(rows []registry.Row) []registry.Row {
		rows = slices.DeleteFunc(rows, func(row registry.Row) bool { return row.SID() == sid })
		others = slices.ContainsFunc(rows, func(row registry.Row) bool { return IsOn(host, row.SID()) })
		return rows
	})
	if err != nil {
		return err
	}
	return r.changeOwn(ctx, func(o *own) {
		o.leave(sid)
		if !others {
			o.dropHost(host)
		}
	})
}

// AliasFrom gives a member on another machine its present alias. Another member that had this alias has gone, or sends its own new
// alias with its next message. Until then its alias is unknown, so that no mention goes to it.
func (r *Room) AliasFrom(ctx context.Context, sid, alias string) error {
	return r.change(ctx, func(rows []registry.Row) []registry.Row {
		i := registry.FindSID(rows, sid)
		for k := range rows {
			switch {
			case i < 0:
			case k == i && rows[k].Alias() != alias:
				rows[k].SetText("alias", alias)
			case k != i && strings.EqualFold(rows[k].Alias(), alias):
				_, host, _ := mail.SplitAddress(alias)
				rows[k].SetText("alias", unknownAlias(rows[k].SID())+"@"+host)
			}
		}
		return rows
	})
}

// LevelFrom sets the level of a member on another machine.
func (r *Room) LevelFrom(ctx context.Context, sid string, level Level) error {
	return r.changeOwn(ctx, func(o *own) {
		if slices.Contains(o.sids, sid) {
			o.set(sid, level)
		}
	})
}

// DropHost ends the memberships of those sessions of a machine that have joined before a time.
func (r *Room) DropHost(ctx context.Context, host string, before float64) error {
	rows, err := r.rows()
	stays := err != nil
	for _, row := range rows {
		if IsOn(host, row.SID()) && row.Number("joined_at") <= before {
			err = errors.Join(err, r.LeaveFrom(ctx, host, row.SID(), row.Alias()))
		} else {
			stays = stays || IsOn(host, row.SID())
		}
	}
	if stays {
		return err
	}
	return errors.Join(err, r.changeOwn(ctx, func(o *own) { o.dropHost(host) }))
}

// Stamp returns a text that changes whenever a file of the room changes.
func Stamp(r *Room) (stamp string) {
	for _, name := range []string{historyName, membersName, metaName, ownName} {
		at, size, _ := r.dir.TimeOf(name)
		stamp += fmt.Sprintln(at, size)
	}
	return stamp
}

// RecordSent changes the record of what a machine was sent, from was to now. It does nothing if the machine has no members any more, or
// if the record is not was any more, because a session there has joined since.
func (r *Room) RecordSent(ctx context.Context, was, now Sent) error {
	return r.changeOwn(ctx, func(o *own) {
		all := o.hosts()
		if i := slices.IndexFunc(all, func(one Sent) bool { return one.Host == now.Host }); i >= 0 {
			if all[i] == was {
				all[i] = now
			}
		} else if rows, err := r.rows(); err == nil && slices.ContainsFunc(rows, func(row registry.Row) bool { return IsOn(now.Host, row.SID()) }) {
			all = append(all, now) // the record was lost with c2c.json
		}
		o.setHosts(all)
	})
}

// Former returns the former names of the room.
func (r *Room) Former() ([]string, error) {
	o, err := r.own()
	if errors.Is(err, errDamaged) {
		return nil, nil
	}
	return o.former, err
}

// maxPart is how many bytes of a history After reads, unless the next post alone is longer.
const maxPart = 512 << 10

// After returns the posts after a place, oldest first, as many as maxPart bytes have, and the place after the last of them. If end is
// the given place, there are no more posts.
func (r *Room) After(place int64) (posts []Post, end int64, err error) {
	h, err := r.history()
	if err != nil {
		return nil, place, err
	}
	defer h.Close()
	whole, err := h.end()
	if err != nil || whole <= place {
		return nil, min(place, whole), err // if the history is shorter, it is a new one
	}
	for _, most := range []int64{maxPart, maxPart + 2*maxLine} {
		end = 0
		if err := h.back(place, min(place+most, whole), func(line []byte, at int64) bool {
			end = max(end, at)
			if p, err := parsePost(line); err == nil {
				p.end = at
				posts = append(posts, p)
			}
			return true
		}); err != nil {
			return nil, place, err
		}
		if end > 0 {
			slices.Reverse(posts)
			return posts, end, nil
		}
	}
	return nil, min(place+maxPart+2*maxLine, whole), nil // the place is now inside a line that is longer than any post
}

// MessageID returns the id of the message that brings the post to a machine. Posts from before the machine's join get other ids than at
// a former join, because an outbox accepts an id only once.
func (s Sent) MessageID(p Post, room string) string {
	id := p.SharedID(room)
	if p.end <= s.Old && s.Join != "" {
		id = s.Join + "-" + mail.ShortSession(id)
	}
	return id
}

// SharedID returns the id of the post on all machines. A post of the original has no id, so it gets one that is made from its place.
func (p Post) SharedID(room string) string {
	if p.ID != "" {
		return p.ID
	}
	return "place-" + mail.ShortSession(room+" "+p.From+" "+strconv.FormatInt(p.end, 10))
}

// Ask records in the copy of a room that a session has asked to join, and makes the copy if there is none. already means that the
// session is a member, again that it waits for an answer. The copy is private until its home says otherwise: the posts come before that.
func (st Store) Ask(ctx context.Context, name string, a Asked) (already, again bool, err error) {
	if _, host := HostOf(name); host == "" {
		return false, false, fmt.Errorf("room %q is here", name)
	}
	if err := CheckName(name); err != nil {
		return false, false, err
	}
	for range 3 { // a copy that goes to the archived rooms meanwhile is made anew
		if already, again, err = st.ask(ctx, name, a); !errors.Is(err, ErrNoRoom) {
			break
		}
	}
	return already, again, err
}

func (st Store) ask(ctx context.Context, name string, a Asked) (already, again bool, err error) {
	r, err := st.Open(name)
	if errors.Is(err, ErrNoRoom) {
		if r, err = st.create(ctx, name, a.Alias, true); errors.Is(err, ErrExists) {
			r, err = st.Open(name)
		}
	}
	if err != nil {
		return false, false, err
	}
	defer r.Close()
	rows, err := r.rows()
	if err != nil || registry.FindSID(rows, a.SID) >= 0 {
		return err == nil, false, err
	}
	var gone error
	err = r.changeOwn(ctx, func(o *own) {
		if gone = r.gone(); gone != nil {
			return
		}
		again = slices.ContainsFunc(o.asked(), func(before Asked) bool { return before.SID == a.SID })
		o.forget(a.SID)
		o.setAsked(append(o.asked(), a))
	})
	return false, again, errors.Join(err, gone)
}

// SetList gives a copy the members of the home's list. A session of this machine becomes a member only if it was one or has asked. It
// keeps the level that it has set here. If no session needs the copy any more, the copy is archived.
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
	var rows []registry.Row
	levels := map[string]Level{}
	for _, e := range list {
		if row := r.rowOf(host, e, before, o.asked()); row != nil {
			rows = append(rows, row)
			levels[row.SID()] = e.Level
		}
	}
	fresh, gone := onlyIn(rows, before), onlyIn(before, rows)
	here := func(sid string) bool { return !IsOn(host, sid) }
	fresh = slices.DeleteFunc(fresh, func(sid string) bool { return !here(sid) })
	for _, sid := range fresh { // before the rows are written: see enter
		err = errors.Join(err, r.enter(ctx, sid))
	}
	if err == nil {
		err = r.changeOwn(ctx, func(o *own) { o.setLevels(host, levels, gone) })
	}
	if err == nil {
		err = r.change(ctx, func([]registry.Row) []registry.Row { return rows })
	}
	if err == nil {
		err = r.ChangeMeta(ctx, func(m *Meta) { m.Private, m.Invited = private, nil })
	}
	if err == nil { // last: after a kill the next list completes the rest
		asked := o.asked()
		err = r.changeOwn(ctx, func(o *own) {
			o.setAsked(slices.DeleteFunc(o.asked(), func(a Asked) bool { // not one that has come meanwhile
				return slices.Contains(asked, a) && registry.FindSID(rows, a.SID) >= 0
			}))
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

// onlyIn returns the sessions that are in rows and not in others.
func onlyIn(rows, others []registry.Row) (sids []string) {
	for _, row := range rows {
		if registry.FindSID(others, row.SID()) < 0 {
			sids = append(sids, row.SID())
		}
	}
	return sids
}

// setLevels takes the levels from the home's list, and drops the levels of sessions that have left. A session of this machine keeps the
// level that it has set.
func (o *own) setLevels(host string, levels map[string]Level, gone []string) {
	for _, sid := range slices.Sorted(maps.Keys(levels)) {
		level := levels[sid]
		if !slices.Contains(Levels(), string(level)) {
			level = Quiet
		}
		if _, has := o.level(sid); !has || IsOn(host, sid) {
			o.set(sid, level)
		}
	}
	for _, sid := range gone {
		o.leave(sid)
	}
}

// rowOf makes the row of a member of a copy; nil for a session of this machine that is no member here and has not asked.
func (r *Room) rowOf(host string, e Entry, before []registry.Row, asked []Asked) registry.Row {
	if !e.Own {
		sid := mail.RemoteSession(host, e.SID, e.Alias)
		if i := registry.FindSID(before, sid); i >= 0 && before[i].Alias() == AliasAt(host, e.Alias) {
			return before[i]
		}
		return newRow(sid, AliasAt(host, e.Alias), mail.Seconds(r.st.Now()))
	}
	if i := slices.IndexFunc(before, func(row registry.Row) bool { return IsSession(e.SID, row.SID()) }); i >= 0 {
		return before[i]
	}
	// A list of a former membership is no answer to a session that has left and asked again.
	if i := slices.IndexFunc(asked, func(a Asked) bool {
		return IsSession(e.SID, a.SID) && (a.Wish == e.Wish || a.Wish == "" || e.Wish == "")
	}); i >= 0 {
		return newRow(asked[i].SID, asked[i].Alias, mail.Seconds(r.st.Now()))
	}
	return nil
}

// IsSession reports whether told, the id of a session of this machine that another machine uses, means sid: told is sid, or a hash of a
// long sid.
func IsSession(told, sid string) bool { return told == sid || told == mail.ShortSession(sid) }

func newRow(sid, alias string, now float64) registry.Row {
	var row registry.Row
	row.SetText("alias", alias)
	row.SetText("session_id", sid)
	row.SetTime("joined_at", now)
	return row
}

// Withdraw ends a session's membership of a copy, or its wish to join. If no session needs the copy any more, the copy is archived.
func (r *Room) Withdraw(ctx context.Context, sid string) error {
	err := r.change(ctx, func(rows []registry.Row) []registry.Row {
		return slices.DeleteFunc(rows, func(row registry.Row) bool { return row.SID() == sid })
	})
	if err == nil {
		err = r.changeOwn(ctx, func(o *own) {
			o.leave(sid)
			o.forget(sid)
		})
	}
	if err = errors.Join(err, r.st.leave(ctx, sid, r.Name)); err == nil {
		err = archiveUnused(ctx, r)
	}
	return err
}

// archiveUnused archives a copy if no session of this machine is in it or has asked. A session that asks at this moment waits for the
// lock, and then makes a new copy.
func archiveUnused(ctx context.Context, r *Room) error {
	if used, err := isUsed(r); err != nil || used {
		return err
	}
	return filelock.With(ctx, r.st.Root, LockName, func() error {
		return filelock.With(ctx, r.dir, membersLock, func() error {
			replaced, err := r.dir.Replaced()
			if err != nil || replaced {
				return err
			}
			if used, err := isUsed(r); err != nil || used {
				return err
			}
			_, err = r.st.archive(r.Name)
			return err
		})
	})
}

// CloseCopy archives a copy whose room was closed. A session that waits for an answer may have asked to join a later room of this name: it
// waits on in a new copy.
func (st Store) CloseCopy(ctx context.Context, name string) error {
	var asked []Asked
	err := filelock.With(ctx, st.Root, LockName, func() error {
		r, err := st.Open(name)
		if err != nil {
			return err
		}
		defer r.Close()
		return filelock.With(ctx, r.dir, membersLock, func() error {
			if asked, err = r.Asked(); err == nil {
				_, err = st.archive(name)
			}
			return err
		})
	})
	for _, a := range asked {
		if err == nil {
			_, _, err = st.Ask(ctx, name, a)
		}
	}
	return err
}

// isUsed reports whether a session of this machine is in a copy or has asked.
func isUsed(r *Room) (bool, error) {
	_, host := HostOf(r.Name)
	rows, err := r.rows()
	asked, aerr := r.Asked()
	return len(asked) > 0 || slices.ContainsFunc(rows, func(row registry.Row) bool { return !IsOn(host, row.SID()) }), errors.Join(err, aerr)
}

// AddCopies appends posts of the home to a copy, in one commit. With mayRepeat, it leaves out posts that are in the copy already.
func (r *Room) AddCopies(ctx context.Context, posts []Post, mayRepeat bool) error {
	return filelock.With(ctx, r.dir, historyLock, func() error {
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

// ParsePost reads a post of another machine. It does not trust the line. If the line has an empty text, text is the text of the post.
func ParsePost(line []byte, text string) (Post, error) {
	p, err := parsePost(line)
	p.Content = cmp.Or(p.Content, text)
	if err == nil {
		err = p.Check()
	}
	return p, err
}

// FollowName gives a copy the present name of its room. Its former names are those that the home knows. A session may have asked to join
// by one of them, or by the present one before the copy had it. Then there are several copies, and the one with members takes over what
// was asked in the others.
func (st Store) FollowName(ctx context.Context, host, room string, former []string) error {
	name := room + "@" + host
	if err := CheckName(name); err != nil {
		return err
	}
	names, real := []string{name}, ""
	for _, old := range slices.Backward(former[max(0, len(former)-maxFormer):]) {
		names = append(names, old+"@"+host)
	}
	var there []string // the newest name first
	for _, one := range names {
		here, err := st.membersHere(one)
		if errors.Is(err, ErrNoRoom) {
			continue
		}
		if err != nil {
			return err
		}
		there = append(there, one)
		if real == "" && len(here) > 0 {
			real = one
		}
	}
	if len(there) == 0 {
		return fmt.Errorf("%w %q", ErrNoRoom, name)
	}
	real = cmp.Or(real, there[0])
	for _, other := range there {
		if other == real {
			continue
		}
		if err := st.merge(ctx, other, real); err != nil {
			return err
		}
	}
	if real == name {
		return nil
	}
	return st.rename(ctx, real, name)
}

// membersHere returns the members of a copy that are sessions of this machine.
func (st Store) membersHere(name string) (here []Asked, err error) {
	r, err := st.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows, err := r.rows()
	_, host := HostOf(name)
	for _, row := range rows {
		if !IsOn(host, row.SID()) {
			here = append(here, Asked{SID: row.SID(), Alias: row.Alias()})
		}
	}
	return here, err
}

// merge has the sessions of one copy ask in another one of the same room, and archives the first.
func (st Store) merge(ctx context.Context, from, to string) error {
	r, err := st.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	into, err := st.Open(to)
	if err != nil {
		return err
	}
	defer into.Close()
	return filelock.With(ctx, st.Root, LockName, func() error {
		return filelock.With(ctx, r.dir, membersLock, func() error { // nobody else asks in it then
			all, err := r.Asked()
			if err != nil {
				return err
			}
			here, err := st.membersHere(from)
			if err != nil {
				return err
			}
			has, err := into.rows()
			if err != nil {
				return err
			}
			if err := into.changeOwn(ctx, func(o *own) {
				for _, a := range append(all, here...) {
					if registry.FindSID(has, a.SID) < 0 {
						o.forget(a.SID)
						o.setAsked(append(o.asked(), a))
					}
				}
			}); err != nil {
				return err
			}
			_, err = st.archive(from)
			return err
		})
	})
}

// Fields of c2c.json that only this file reads.
const hostsField, askedField = "hosts", "asked"

// field returns a field that own does not parse; nil if it is missing.
func (o own) field(name string) json.RawMessage {
	for _, f := range o.extra {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// setField replaces a field that own does not parse; with nil it drops the field.
func (o *own) setField(name string, value []byte) {
	o.extra = slices.DeleteFunc(slices.Clone(o.extra), func(f mail.Field) bool { return f.Name == name })
	if value != nil {
		o.extra = append(o.extra, mail.Field{Name: name, Value: value})
	}
}

// hosts returns the records of the machines with members.
func (o own) hosts() (all []Sent) {
	fields.Each(o.field(hostsField), func(host string, value json.RawMessage) error {
		s := Sent{Host: host}
		if fields.Each(value, func(name string, value json.RawMessage) (err error) {
			switch name {
			case "read":
				s.Read, err = strconv.ParseInt(string(value), 10, 64)
			case "list":
				s.List, err = fields.Text(value)
			case "name":
				s.Name, err = fields.Text(value)
			case "join":
				s.Join, err = fields.Text(value)
			case "old":
				s.Old, err = strconv.ParseInt(string(value), 10, 64)
			}
			return err
		}) == nil && mail.CheckHost(host) == nil && s.Read >= 0 {
			all = append(all, s)
		}
		return nil
	})
	return all
}

func (o *own) dropHost(host string) {
	o.setHosts(slices.DeleteFunc(o.hosts(), func(s Sent) bool { return s.Host == host }))
}

func (o *own) setHosts(all []Sent) {
	var b []byte
	for i, s := range all {
		if i == 0 {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = append(fields.AppendText(append(b, '\n'), s.Host), `:{"read":`...)
		b = append(strconv.AppendInt(b, s.Read, 10), `,"list":`...)
		b = append(fields.AppendText(b, s.List), `,"name":`...)
		b = append(fields.AppendText(b, s.Name), `,"join":`...)
		b = append(fields.AppendText(b, s.Join), `,"old":`...)
		b = append(strconv.AppendInt(b, s.Old, 10), '}')
	}
	if b != nil {
		b = append(b, '}')
	}
	o.setField(hostsField, b)
}

// asked returns, in a copy, the sessions that wait to become members.
func (o own) asked() (all []Asked) {
	fields.Each(o.field(askedField), func(sid string, value json.RawMessage) error {
		if text, err := fields.Text(value); err == nil && mail.ValidName(sid) {
			alias, wish, _ := strings.Cut(text, " ")
			all = append(all, Asked{sid, alias, wish})
		}
		return nil
	})
	return all
}

func (o *own) setAsked(all []Asked) {
	var b []byte
	for i, a := range all {
		if i == 0 {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = append(fields.AppendText(b, a.SID), ':')
		b = fields.AppendText(b, a.Alias+" "+a.Wish)
	}
	if b != nil {
		b = append(b, '}')
	}
	o.setField(askedField, b)
}

func (o *own) forget(sids ...string) {
	o.setAsked(slices.DeleteFunc(o.asked(), func(a Asked) bool { return slices.Contains(sids, a.SID) }))
}
