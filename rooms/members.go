package rooms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/fields"
	"c2c/sessions"
)

// Level says which posts of a room a member gets without asking for them.
type Level string

// The levels. A level never makes a post wake a member.
const (
	Open  Level = "open"  // each post, even during a turn of the member
	Quiet Level = "quiet" // posts that name the member; all others in one digest with the member's next turn
	Muted Level = "muted" // no posts
)

// Levels lists the levels.
func Levels() []string { return []string{string(Open), string(Quiet), string(Muted)} }

// Member is a member of a room. Alias is the member's alias at the time when it joined; the
// registry has its present alias.
type Member struct {
	SID    string
	Alias  string
	Joined time.Time
	Level  Level  // "" for a session of another machine: only that machine knows the level
	Wish   string // for a member on another machine: the id of the message by which it has asked to join
}

// Members lists the members, in the order in which they joined. It leaves out damaged rows.
func (r *Room) Members() ([]Member, error) {
	rows, err := r.rows()
	if err != nil {
		return nil, err
	}
	own, err := r.own()
	if err != nil {
		r.st.Log.Warn("the levels of a room's members are unreadable", "room", r.Name, "err", err)
	}
	var all []Member
	for _, row := range rows {
		level := own.level(row.SID())
		if isFar(row.SID(), row.Alias()) {
			level = ""
		}
		all = append(all, Member{row.SID(), row.Alias(), mail.FromSeconds(row.Number("joined_at")), level, row.Text(wishField)})
	}
	return all, nil
}

// rows reads members.json.
func (r *Room) rows() ([]sessions.Row, error) {
	data, err := r.dir.ReadMost(membersName, maxMembers)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the members of room %q: %w", r.Name, err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	rows, damage := sessions.ParseRegistry(data)
	if damage != nil {
		r.st.Log.Warn("the list of a room's members is damaged", "room", r.Name, "err", damage)
	}
	return rows, nil
}

// maxMembers bounds the size of members.json and of meta.json.
const maxMembers = 1 << 20

// change edits members.json under its lock.
func (r *Room) change(ctx context.Context, edit func([]sessions.Row) []sessions.Row) error {
	return atomicfile.WithLock(ctx, r.dir, membersLock, func() error {
		if err := r.gone(); err != nil {
			return err
		}
		data, err := r.dir.ReadIf(membersName)
		if err != nil {
			return fmt.Errorf("read the members of room %q: %w", r.Name, err)
		}
		var before []sessions.Row
		if len(data) > 0 {
			var damage error
			if before, damage = sessions.ParseRegistry(data); damage != nil {
				aside := membersName + ".corrupt-" + r.st.Now().UTC().Format("20060102T150405.000000")
				r.st.Log.Error("the list of a room's members was damaged; lost members must join again", "room", r.Name, "kept_as", aside, "err", damage)
				if err := r.dir.Write(aside, data); err != nil {
					return err
				}
			}
		}
		rows := edit(slices.Clone(before))
		if slices.EqualFunc(rows, before, func(a, b sessions.Row) bool { return string(a) == string(b) }) {
			return nil
		}
		after := sessions.FormatRegistry(rows)
		if len(after) > maxMembers && len(after) >= len(data) {
			return errFull(r, len(before))
		}
		return r.dir.Replace(membersName, after)
	})
}

// remove removes rows from members.json.
func (r *Room) remove(ctx context.Context, match func(sessions.Row) bool) error {
	return r.change(ctx, func(rows []sessions.Row) []sessions.Row { return slices.DeleteFunc(rows, match) })
}

func errFull(r *Room, count int) error {
	return fmt.Errorf("room %q is full: %d members", r.Name, count)
}

// Join makes a session a member, and sets its place to the end of the history unless it has a
// place. It returns true if the session was a member before. After a kill, a second call completes
// the missing steps. If there is a member with the same alias, and the function left reports that
// this member's session is gone, the new session takes over its row. If left is nil, no session
// counts as gone.
func (r *Room) Join(ctx context.Context, sid, alias string, left func(sid string) bool) (already bool, err error) {
	if !mail.ValidName(sid) {
		return false, fmt.Errorf("join room %q: session id %q is not a valid name", r.Name, sid)
	}
	meta, err := r.Meta()
	if err != nil {
		return false, err
	}
	rows, err := r.rows()
	if err != nil {
		return false, err
	}
	already = sessions.FindSID(rows, sid) >= 0
	if meta.Private && !already && !meta.Invites(alias) {
		return false, fmt.Errorf("join room %q: %w: ask a member for c2c rooms invite %s %s", r.Name, ErrPrivate, r.Name, alias)
	}
	if err = r.enter(ctx, sid); err != nil {
		return already, err
	}
	if err = r.putRow(ctx, sid, alias, "", left); err == nil && meta.Private {
		err = r.uninvite(ctx, alias)
	}
	return already, err
}

// putRow adds or corrects a member's row, see Join.
func (r *Room) putRow(ctx context.Context, sid, alias, wish string, left func(sid string) bool) error {
	now := mail.Seconds(r.st.Now())
	return r.change(ctx, func(rows []sessions.Row) []sessions.Row {
		i := sessions.FindSID(rows, sid)
		if i < 0 {
			i = slices.IndexFunc(rows, func(row sessions.Row) bool {
				return strings.EqualFold(row.Alias(), alias) && left != nil && left(row.SID())
			})
		}
		if i < 0 {
			i, rows = len(rows), append(rows, newRow(sid, alias, now))
		}
		if rows[i].SID() != sid {
			rows[i].SetText("session_id", sid)
		}
		if rows[i].Alias() != alias {
			rows[i].SetText("alias", alias)
		}
		if wish != "" {
			rows[i].SetText(wishField, wish)
		}
		return rows
	})
}

// uninvite removes an invitation that was used, because another session may have the alias later.
func (r *Room) uninvite(ctx context.Context, alias string) error {
	meta, err := r.Meta()
	if err != nil || !meta.Invites(alias) {
		return err
	}
	return r.ChangeMeta(ctx, func(m *Meta) {
		m.Invited = slices.DeleteFunc(m.Invited, func(s string) bool { return strings.EqualFold(s, alias) })
	})
}

// Leave ends a session's membership. The session may join a private room again, under its present
// alias.
func (r *Room) Leave(ctx context.Context, sid, alias string) error {
	if err := r.inviteBack(ctx, sid, alias); err != nil {
		return err
	}
	err := r.changeOwn(ctx, func(o *own) { delete(o.Levels, sid) }) // first: if it joins again, it begins with the level Quiet
	if err == nil {
		err = r.remove(ctx, func(row sessions.Row) bool { return row.SID() == sid })
	}
	return errors.Join(err, r.st.leave(ctx, sid, r.Name))
}

// inviteBack invites a member that is about to leave a private room, so that it may join again. It
// invites the present alias, because by now another session may have the alias in the member's row.
func (r *Room) inviteBack(ctx context.Context, sid, alias string) error {
	if meta, err := r.Meta(); err != nil || !meta.Private {
		return nil // leaving does not need meta.json
	}
	rows, err := r.rows()
	if err != nil || sessions.FindSID(rows, sid) < 0 {
		return err
	}
	return r.Invite(ctx, alias)
}

// ForgetHost ends the memberships of all sessions of a machine, and takes back their invitations,
// because another machine may get its name.
func ForgetHost(ctx context.Context, r *Room, host string) error {
	err := r.remove(ctx, func(row sessions.Row) bool { return IsOn(host, row.SID()) })
	isThere := func(alias string) bool {
		_, on, remote := mail.SplitAddress(alias)
		return remote && strings.EqualFold(on, host)
	}
	meta, merr := r.Meta()
	if merr == nil && slices.ContainsFunc(meta.Invited, isThere) && !errors.Is(err, atomicfile.ErrLockTimeout) {
		merr = r.ChangeMeta(ctx, func(m *Meta) { m.Invited = slices.DeleteFunc(m.Invited, isThere) })
	}
	return errors.Join(err, merr)
}

// ForgetHostIn calls ForgetHost for all rooms in the root at a path, except copies. It leaves out a
// room whose lock another process holds for too long. The error names the lock.
func ForgetHostIn(ctx context.Context, root, host string) error {
	st, err := openStore(root)
	if err != nil {
		return atomicfile.UnlessAbsent(err) // a named project has no root before its first mail
	}
	defer st.Root.Close()
	names, err := st.Names()
	for _, name := range names {
		if _, home := HostOf(name); home != "" {
			continue
		}
		ctx, end := context.WithTimeout(ctx, 2*time.Second) // a suspended process may hold the lock for days
		r, oerr := st.Open(name)
		if oerr == nil {
			err = errors.Join(err, ForgetHost(ctx, r, host), r.Close())
		} else if !errors.Is(oerr, ErrNoRoom) {
			err = errors.Join(err, oerr)
		}
		end()
	}
	return err
}

// SetLevel sets the level of a member.
func (r *Room) SetLevel(ctx context.Context, sid string, level Level) error {
	rows, err := r.rows()
	if err == nil && sessions.FindSID(rows, sid) < 0 {
		err = fmt.Errorf("room %q: you are %w", r.Name, ErrNotMember)
	}
	if err == nil {
		err = r.changeOwn(ctx, func(o *own) { o.Levels[sid] = level })
	}
	if err != nil {
		return err
	}
	return r.st.markOpen(ctx, sid)
}

// Meta is the content of meta.json.
type Meta struct {
	Private bool     // only invited aliases may join
	Invited []string // aliases
	all     map[string]json.RawMessage
}

// Invites reports whether an alias is invited, so that it may join the room if the room is private.
func (m Meta) Invites(alias string) bool {
	return slices.ContainsFunc(m.Invited, func(s string) bool { return strings.EqualFold(s, alias) })
}

func (m Meta) format() []byte {
	visibility := "public"
	if m.Private {
		visibility = "invite_only"
	}
	m.all["visibility"], m.all["invited_members"] = jsonLine(visibility), jsonLine(append([]string{}, m.Invited...))
	return jsonLine(m.all)
}

// Meta reads meta.json. A room without meta.json is public.
func (r *Room) Meta() (m Meta, err error) {
	m.all = map[string]json.RawMessage{}
	data, err := r.dir.ReadMost(metaName, maxMembers)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m.all)
	}
	if err == nil && m.all == nil {
		err = errors.New("not a JSON object")
	}
	if err != nil { // it is not known who may join: let nobody join
		return Meta{Private: true}, fmt.Errorf("read who may join room %q: %w", r.Name, err)
	}
	visibility, _ := fields.Text(m.all["visibility"])
	m.Private = visibility == "invite_only"
	m.Invited, _ = fields.Texts(m.all["invited_members"])
	return m, nil
}

// ChangeMeta edits meta.json. It takes the lock of the members; meta.json has none of its own.
func (r *Room) ChangeMeta(ctx context.Context, edit func(*Meta)) error {
	return atomicfile.WithLock(ctx, r.dir, membersLock, func() error {
		if err := r.gone(); err != nil {
			return err
		}
		m, err := r.Meta()
		if err != nil {
			return err
		}
		edit(&m)
		after := m.format()
		if len(after) > maxMembers {
			return fmt.Errorf("room %q has too many invitations: %d", r.Name, len(m.Invited))
		}
		return r.dir.Replace(metaName, after)
	})
}

// Invite allows an alias to join.
func (r *Room) Invite(ctx context.Context, alias string) error {
	return r.ChangeMeta(ctx, func(m *Meta) {
		if !m.Invites(alias) {
			m.Invited = append(m.Invited, alias)
		}
	})
}

// own is the content of c2c.json.
type own struct {
	Levels map[string]Level `json:"members"`         // by session, if it has set a level
	Hosts  map[string]Sent  `json:"hosts,omitempty"` // by machine; only at the home
	Asked  map[string]Asked `json:"asked,omitempty"` // by session; only in a copy
}

func newOwn() own { return own{map[string]Level{}, map[string]Sent{}, map[string]Asked{}} }

func (o own) level(sid string) Level {
	if level := o.Levels[sid]; slices.Contains(Levels(), string(level)) {
		return level
	}
	return Quiet
}

// asked returns the sessions that wait to become members, sorted.
func (o own) asked() []Asked {
	return slices.SortedFunc(maps.Values(o.Asked), func(a, b Asked) int { return strings.Compare(a.SID, b.SID) })
}

// errDamaged means that c2c.json has content that c2c does not write.
var errDamaged = errors.New("damaged")

// own reads c2c.json.
func (r *Room) own() (o own, err error) {
	data, err := r.dir.ReadMost(ownName, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return newOwn(), nil
	}
	o = newOwn()
	if errors.Is(err, atomicfile.ErrTooLarge) || err == nil && (json.Unmarshal(data, &o) != nil || o.Levels == nil || o.Hosts == nil || o.Asked == nil) {
		err = errDamaged
	}
	if err != nil {
		return own{}, fmt.Errorf("read %s of room %q: %w", ownName, r.Name, err)
	}
	for host, s := range o.Hosts {
		s.Host = host
		o.Hosts[host] = s
	}
	for sid, a := range o.Asked {
		a.SID = sid
		o.Asked[sid] = a
	}
	return o, nil
}

func (o own) format() []byte {
	data, _ := json.MarshalIndent(o, "", " ") // it has only texts and numbers, so this never fails
	return append(data, '\n')
}

// changeOwn edits c2c.json. It renames a damaged file; then all members have the level quiet.
func (r *Room) changeOwn(ctx context.Context, edit func(*own)) error {
	return atomicfile.WithLock(ctx, r.dir, membersLock, func() error {
		o, err := r.own()
		if errors.Is(err, errDamaged) {
			aside := ownName + ".corrupt-" + r.st.Now().UTC().Format("20060102T150405.000000")
			r.st.Log.Error("the levels of a room's members were damaged", "room", r.Name, "kept_as", aside, "err", err)
			o, err = newOwn(), r.dir.Rename(ownName, aside)
		}
		if err != nil {
			return err
		}
		before := string(o.format())
		edit(&o)
		after := o.format()
		if string(after) == before {
			return nil
		}
		return r.dir.Replace(ownName, after)
	})
}
