package rooms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// A room is on one machine, its home. The history there gives the order of the posts. Each other
// machine with members has a copy, a room such as review@devbox, to which this package appends the
// posts of the home. At the home, c2c.json records how much of the room each machine was sent. In a
// copy, c2c.json has the sessions that have asked to join.

// Sent records how much of a room was sent to another machine with members.
type Sent struct {
	Host string `json:"-"`
	Read int64  `json:"read"` // the place in the history up to which the posts were sent
	List string `json:"list"` // a hash of the list of members that was sent last; "": none was sent
}

// Asked is a session that has asked the room's home to let it join. Wish is the id of the message
// by which it has asked.
type Asked struct{ SID, Alias, Wish string }

// MarshalText writes all but the session, whose id is the key in c2c.json.
func (a Asked) MarshalText() ([]byte, error) { return []byte(a.Alias + " " + a.Wish), nil }

func (a *Asked) UnmarshalText(text []byte) error {
	a.Alias, a.Wish, _ = strings.Cut(string(text), " ")
	return nil
}

// wishField is the field for the Wish in the row of a member on another machine.
const wishField = "wish"

// Entry is a member in the list that the home sends.
type Entry struct {
	Alias string `json:"alias"`
	SID   string `json:"session"`
	Own   bool   `json:"own,omitempty"`  // the member is on the machine to which the list goes
	Wish  string `json:"wish,omitempty"` // see Asked; only if Own is set
}

// AliasAt turns the alias that a session has on another machine into its alias on this machine. If
// the host is devbox, amber becomes amber@devbox, and birch@laptop, a session on a third machine,
// becomes birch.laptop@devbox.
func AliasAt(host, alias string) string {
	name := strings.Replace(alias, "@", ".", 1)
	if mail.CheckAlias(name) != nil {
		name = unknownAlias(alias)
	}
	return name + "@" + host
}

// unknownAlias makes a name for a session whose alias is unknown or invalid.
func unknownAlias(id string) string { return "session-" + mail.ShortSession(id)[:8] }

// IsOn reports whether a session is on the other machine with the name host.
func IsOn(host, sid string) bool { return strings.HasPrefix(sid, "r-"+host+".") }

// SessionOn returns the id that a session of another machine has on its own machine, or a hash of a
// long id. It returns false if the session is not on the machine with the name host.
func SessionOn(host, sid string) (string, bool) { return strings.CutPrefix(sid, "r-"+host+".") }

// Hosts returns the other machines with members. For a copy it returns none. It takes the machines
// from the list of members, because c2c.json may be lost, or a kill may have come before c2c.json
// was changed. A machine that is not in c2c.json is sent the newest posts.
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
		if !far || !IsOn(host, row.SID()) || slices.ContainsFunc(all, func(s Sent) bool { return s.Host == host }) {
			continue
		}
		s, known := o.Hosts[host]
		if !known {
			s.Host = host
			end, err := endOf(r)
			if err != nil {
				return nil, err
			}
			s.Read = max(0, end-backlog)
		}
		all = append(all, s)
	}
	return all, err
}

// AreShared reports whether the root at a path has a room with members on other machines. If it
// cannot find out, it returns true.
func AreShared(root string) bool {
	st, err := openStore(root)
	if err != nil {
		return true
	}
	defer st.Root.Close()
	names, err := st.Names()
	return err != nil || slices.ContainsFunc(names, func(name string) bool {
		hosts, err := st.HostsOf(name)
		return err != nil || len(hosts) > 0
	})
}

// HostsOf returns the result of Room.Hosts for the room with this name.
func (st Store) HostsOf(name string) ([]Sent, error) {
	r, err := st.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Hosts()
}

// Asked returns the sessions that wait for an answer of the room's home.
func (r *Room) Asked() ([]Asked, error) {
	o, err := r.own()
	return o.asked(), err
}

// JoinFrom makes a session of another machine a member. The arguments sid and alias are those of
// the sender in that machine's mail, and wish is the id of the message that asks. If the machine
// had no member before, it is sent the posts from now on.
func (r *Room) JoinFrom(ctx context.Context, host, sid, alias, wish string) error {
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
	if sessions.FindSID(rows, sid) < 0 && meta.Private && !meta.Invites(alias) {
		return fmt.Errorf("join room %q: %w", r.Name, ErrPrivate)
	}
	row := newRow(sid, alias, mail.Seconds(r.st.Now()))
	row.SetText(wishField, wish)
	if more := append(slices.Clone(rows), row); sessions.FindSID(rows, sid) < 0 && len(sessions.FormatRegistry(more)) > maxMembers {
		return errFull(r, len(rows)) // before c2c.json is changed: refused joins must not fill it
	}
	end, err := endOf(r)
	if err != nil {
		return err
	}
	first := !slices.ContainsFunc(rows, func(row sessions.Row) bool { return IsOn(host, row.SID()) })
	err = r.changeOwn(ctx, func(o *own) {
		s, known := o.Hosts[host]
		if first || !known { // with first, a record is that of an earlier membership
			s = Sent{Host: host, Read: end}
		}
		s.List = "" // send the list again, because the machine may have lost its copy
		o.Hosts[host] = s
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

// backlog is how many bytes of the history a machine gets again after c2c.json was lost. It takes
// only those posts that it does not have.
const backlog = 128 << 10

// endOf returns the place after the last post of a room.
func endOf(r *Room) (int64, error) {
	h, err := r.history()
	if err != nil {
		return 0, err
	}
	defer h.Close()
	return h.end()
}

// LeaveFrom ends the membership of a session of another machine. The session may join a private
// room again. A machine without members is sent nothing more.
func (r *Room) LeaveFrom(ctx context.Context, sid, alias string) error {
	if err := r.inviteBack(ctx, sid, alias); err != nil {
		return err
	}
	return r.remove(ctx, func(row sessions.Row) bool { return row.SID() == sid })
}

// AliasFrom gives a member on another machine its present alias. If another member has this alias
// in members.json, that member has gone, or its next message brings its new alias. Until then
// AliasFrom gives it an alias that nobody uses, so that no mention goes to it.
func (r *Room) AliasFrom(ctx context.Context, sid, alias string) error {
	return r.change(ctx, func(rows []sessions.Row) []sessions.Row {
		i := sessions.FindSID(rows, sid)
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

// DropHost ends the membership of all sessions of a machine that have joined up to the time cutoff.
func (r *Room) DropHost(ctx context.Context, host string, cutoff float64) error {
	rows, err := r.rows()
	for _, row := range rows {
		if IsOn(host, row.SID()) && row.Number("joined_at") <= cutoff {
			err = errors.Join(err, r.LeaveFrom(ctx, row.SID(), row.Alias()))
		}
	}
	return err
}

// RecordSent changes the record of a machine from the value was to the value now. It does nothing
// if the machine has no members any more, or if the record has changed meanwhile because a session
// there has joined.
func (r *Room) RecordSent(ctx context.Context, was, now Sent) error {
	return r.changeOwn(ctx, func(o *own) {
		there, known := o.Hosts[now.Host]
		if !known { // the record was lost with c2c.json
			rows, err := r.rows()
			known = err == nil && slices.ContainsFunc(rows, func(row sessions.Row) bool { return IsOn(now.Host, row.SID()) })
			there = was
		}
		if known && there == was {
			o.Hosts[now.Host] = now
		}
	})
}

// maxPart is the number of bytes of a history that After reads: at least one post.
const maxPart = maxLine

// After returns the posts after a place, oldest first, and the place after the last of them. It
// returns as many posts as maxPart bytes contain. If end is equal to place, there are no more
// posts.
func (r *Room) After(place int64) (posts []Post, end int64, err error) {
	h, err := r.history()
	if err != nil {
		return nil, place, err
	}
	defer h.Close()
	whole, err := h.end()
	if err != nil {
		return nil, place, err
	}
	if whole <= place {
		return nil, whole, nil // if the history is shorter, it is a new one
	}
	if err := h.back(place, min(place+maxPart, whole), func(line []byte, at int64) bool {
		end = max(end, at)
		if p, err := parsePost(line); err == nil {
			p.end = at
			posts = append(posts, p)
		}
		return true
	}); err != nil {
		return nil, place, err
	}
	if end == 0 {
		end = min(place+maxPart, whole) // skip this part: it is in a line that is longer than any post
	}
	slices.Reverse(posts)
	return posts, end, nil
}
