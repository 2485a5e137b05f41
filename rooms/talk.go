// This part posts to rooms, joins and leaves them. It decides whom a post wakes, reports what a
// post costs, and stops a room whose agents only wake each other.
//
// A post is stored once, in the history of its room. Each member that it names also gets it as an
// ordinary message, unless the member has muted the room: here through package broker, on another
// machine through the relay.

package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Draft is a post to be made.
type Draft struct {
	Room    string
	To      string       // a member that the post wakes as if the text named this member; "": none
	Message mail.Message // the post's text, kind and tag; its id, if the author chose one; InReplyTo: the id of the post that it answers
	Wake    bool         // the post wakes all members; only a person may set this
	Reason  string       // the reason for waking all members, shown to them
	Limit   int          // the limit of the loop guard, see LimitOf; 0: the default
	Named   *Named       // the members that the text names, if another machine has found them; nil: Publish finds them
}

// Named says which members the text of a post names.
type Named struct {
	SIDs []string // the sessions of these members
	All  bool     // the text names all members
}

// The type one is a member with its present alias.
type one struct {
	Member
	alias string // the present alias
}

// posting is a post that is being made.
type posting struct {
	b       *broker.Broker
	look    sessions.Prober
	from    sessions.Session
	draft   Draft
	room    *Room
	rows    []sessions.Row
	members []one

	replied Post  // the post that the new post answers; if replied has no id, it answers none
	all     bool  // the post names all members
	targets []one // the members that get the post as a message
	receipt Receipt
	post    Post
	stopped bool
}

// Publish makes a post. When it returns nil, the post survives a power cut, unless Receipt.Passed
// is set: such a post is not stored. To repeat Publish with the same id does no harm, and completes
// the steps that a kill has prevented.
func Publish(ctx context.Context, b *broker.Broker, from sessions.Session, d Draft) (Receipt, error) {
	p, err := begin(ctx, b, from, d)
	_, host := HostOf(d.Room)
	if errors.Is(err, ErrNoRoom) && host != "" {
		err = cmp.Or(broker.CheckHost(b, host), err)
	}
	if err != nil {
		return Receipt{}, err
	}
	defer p.room.Close()
	if p.receipt.Passed {
		return p.receipt, nil
	}
	if host != "" {
		return p.sendHome(ctx, host)
	}
	if err := p.store(ctx); err != nil {
		return Receipt{}, err
	}
	p.deliver(ctx)
	return p.receipt, nil
}

// Cost returns the receipt that a person's post would have, as far as it is known in advance, and
// posts nothing. It ignores the loop guard, which does not stop a person's posts.
func Cost(ctx context.Context, b *broker.Broker, from sessions.Session, d Draft) (Receipt, error) {
	p, err := begin(ctx, b, from, d)
	if err != nil {
		return Receipt{}, err
	}
	defer p.room.Close()
	_, host := HostOf(d.Room)
	if host != "" {
		p.receipt.Host, p.receipt.StoredFor = host, 0
	}
	for _, to := range p.targets {
		switch {
		case host == "":
			p.add(to)
		case !p.all:
			p.receipt.Sends = append(p.receipt.Sends, to.alias)
		}
	}
	return p.receipt, nil
}

// begin finds the members to which a post goes. The caller must close p.room.
func begin(ctx context.Context, b *broker.Broker, from sessions.Session, d Draft) (p *posting, err error) {
	if b.Brief { // the receipt says whom the post wakes, so c2c has to know which clients live
		b.Brief = false
	}
	p = &posting{b: b, look: b.Prober(), from: from, draft: d}
	if err := broker.CheckSender(from, d.Message); err != nil {
		return nil, err
	}
	if p.room, err = StoreOf(b.Registry).Open(d.Room); err != nil {
		return nil, err
	}
	room := p.room
	defer func() {
		if err != nil {
			room.Close()
		}
	}()
	if err := p.findMembers(ctx); err != nil {
		return nil, err
	}
	p.receipt = Receipt{DeliveredTo: []string{}, Skipped: []string{}, Wakes: []string{}, Room: p.room.Name, From: from.Alias, TS: mail.Seconds(b.Now())}
	for _, m := range p.members {
		if m.SID != from.ID {
			p.receipt.DeliveredTo = append(p.receipt.DeliveredTo, m.alias)
		}
	}
	p.receipt.StoredFor = len(p.receipt.DeliveredTo)
	if Passes(from, d.Message.Content) {
		p.receipt.Passed, p.receipt.DeliveredTo, p.receipt.StoredFor = true, []string{}, 0
		return p, nil
	}
	if err := p.findTargets(); err != nil {
		return nil, err
	}
	return p, canKeep(d.Message, len(p.targets) > 0)
}

// canKeep returns an error for a message with an option that a post cannot have. The argument named
// means that some member gets the post as a message.
func canKeep(m mail.Message, named bool) error {
	switch {
	case m.Ephemeral || m.ExpiresAt != 0:
		return errors.New("a room keeps its posts: ephemeral and ttl are for a message to one session")
	case !named && (m.AnswerBy != 0 || m.TellAfter > 0):
		return errors.New("the post names nobody who could answer it: name a member, or leave out answer-by and tell-after")
	}
	return nil
}

// findMembers reads the members, and returns an error if the author is not among them, and has not
// asked to be.
func (p *posting) findMembers(ctx context.Context) (err error) {
	if p.rows, err = p.b.Rows(ctx); err != nil {
		return err
	}
	all, err := p.room.Members()
	if err != nil {
		return err
	}
	in, err := p.hasAsked()
	for _, m := range all {
		alias := AliasOf(p.rows, &m)
		// If the member's session is gone and another session has its alias, leave the member out:
		// the alias means the other session.
		if sessions.FindSID(p.rows, m.SID) >= 0 || len(sessions.Holders(p.rows, alias)) == 0 {
			p.members = append(p.members, one{m, alias})
		}
		in = in || m.SID == p.from.ID
	}
	if err == nil && !in {
		err = fmt.Errorf("post to room %q: you are %w", p.room.Name, ErrNotMember)
	}
	return err
}

// member finds a member by alias. It returns nil if there is none. For a member on another machine,
// the part before the @ is enough if no other member has it.
func (p *posting) member(alias string) *one {
	far, count := 0, 0
	for i, m := range p.members {
		if strings.EqualFold(m.alias, alias) {
			return &p.members[i]
		}
		if name, _, ok := mail.SplitAddress(m.alias); ok && strings.EqualFold(name, alias) {
			far, count = i, count+1
		}
	}
	if count != 1 {
		return nil
	}
	return &p.members[far]
}

// findTargets finds the members that get the post as a message: those whom it names or answers, or
// all.
func (p *posting) findTargets() error {
	d := p.draft
	names, all := p.findNamed()
	person := p.from.IsProvenPerson()
	switch {
	case d.Wake && !person:
		return errors.New("only a person may wake all members without a reason: write @all, and say why with --reason, or name those whom you need (@alias)")
	case all && !person && d.Reason == "":
		return fmt.Errorf("@all wakes %s: say why with --reason, which all of them see, or name those whom you need", counted(p.receipt.DeliveredTo))
	case d.Reason != "" && !all:
		return errors.New("a reason is for @all, and the post does not name all")
	}
	p.all = all || d.Wake
	if d.To != "" {
		m := p.member(d.To)
		if m == nil {
			return fmt.Errorf("post to %s#%s: %[1]s is not in the room (c2c rooms invite %[2]s %[1]s)", d.To, p.room.Name)
		}
		names = append(names, m.alias)
	}
	if p.all {
		names = append(names, p.receipt.DeliveredTo...)
	}
	if d.Message.InReplyTo != "" {
		var err error
		if p.replied, err = p.room.Find(d.Message.InReplyTo); err != nil {
			return err
		}
		if i := slices.IndexFunc(p.members, func(m one) bool { return p.isAuthor(m, p.replied) }); i >= 0 {
			names = append(names, p.members[i].alias)
		}
	}
	for _, name := range names {
		m := p.member(name)
		switch {
		case m == nil || m.SID == p.from.ID || p.isTarget(m.SID):
		case m.Level == Muted:
			if !slices.Contains(p.receipt.Muted, m.alias) {
				p.receipt.Muted = append(p.receipt.Muted, m.alias)
			}
		default:
			p.targets = append(p.targets, *m)
		}
	}
	return p.checkFar()
}

// findNamed returns the aliases of the members that the text names, and whether it names all
// members. Names that no member has go into the receipt.
func (p *posting) findNamed() (names []string, all bool) {
	if d := p.draft.Named; d != nil { // the author's machine has looked for the other names
		for _, m := range p.members {
			if slices.Contains(d.SIDs, m.SID) {
				names = append(names, m.alias)
			}
		}
		return names, d.All
	}
	text, r := p.draft.Message.Content, &p.receipt
	known, unknown, all := Mentions(text, func(alias string) bool { return p.member(alias) != nil || len(sessions.Holders(p.rows, alias)) > 0 })
	for _, alias := range known {
		if p.member(alias) != nil {
			names = append(names, alias)
		} else {
			r.Strangers = append(r.Strangers, alias)
		}
	}
	r.Unknown = unknown[:min(len(unknown), maxUnknown)]
	return names, all
}

func (p *posting) isAuthor(m one, post Post) bool {
	if post.Session != "" {
		return m.SID == post.Session
	}
	return strings.EqualFold(m.alias, post.From)
}

func (p *posting) isTarget(sid string) bool {
	return slices.ContainsFunc(p.targets, func(m one) bool { return m.SID == sid })
}

// agent returns the session of an agent. If sid is a person's session, or if the session is gone,
// the result is empty, so it is absent.
func (p *posting) agent(sid string) (s sessions.Session) {
	if i := sessions.FindSID(p.rows, sid); i >= 0 && !isPerson(sid) {
		return p.look.Session(p.rows[i])
	}
	return sessions.Session{State: sessions.Absent}
}

// isWoken reports whether c2c can ring a session for its mail now.
func (p *posting) isWoken(sid string) bool {
	s := p.agent(sid)
	if s.Quiet {
		return false
	}
	support, _ := p.look.Surface(s)
	return support == sessions.SurfaceFull
}

// wakes reports whether the post wakes a target, as far as is known here: only such targets count
// for the loop guard.
func (p *posting) wakes(to one) bool {
	return !isPerson(to.SID) && !p.draft.Message.Deferrable && (to.isFar() || p.isWoken(to.SID))
}

// isPerson reports whether a session belongs to a person, here or on another machine.
func isPerson(sid string) bool {
	if host, far := strings.CutPrefix(sid, "r-"); far {
		_, sid, _ = strings.Cut(host, ".")
	}
	return sessions.IsPersonID(sid)
}

// store puts the post into the history, unless the history has it already.
func (p *posting) store(ctx context.Context) error {
	d := p.draft.Message
	p.post = Post{TS: p.receipt.TS, From: p.from.Alias, Content: d.Content, ID: cmp.Or(d.ID, mail.NewID(p.b.Now())), Session: p.from.ID,
		Kind: d.Kind, Tag: d.Tag, Reason: p.draft.Reason, Person: p.from.IsProvenPerson(), KnownBy: cmp.Or(p.from.KnownBy, mail.ByClaim)}
	if p.replied.ID != "" {
		p.post.InReplyTo, p.post.Thread = p.replied.ID, p.replied.Root()
	}
	older, err := p.room.WithID(d.ID) // after a late retry, the post of the first try may not be among the newest posts
	if err != nil {
		return err
	}
	return p.room.Append(ctx, func(last []Post) (*Post, error) {
		for _, o := range slices.Concat(last, older) {
			switch {
			case d.ID == "" || o.ID == "" || mail.ShortID(o.ID) != mail.ShortID(d.ID):
			case o.ID != d.ID || o.Session != p.from.ID: // the same short id is refused, too: an answer to the older post would find the new one
				return nil, fmt.Errorf("id %q: another post has it", d.ID)
			case o.Content != d.Content:
				return nil, fmt.Errorf("id %q: you have posted another text with it", d.ID)
			default:
				p.repeat(o)
				return nil, nil
			}
		}
		p.guard(last)
		for _, m := range p.targets {
			p.post.To = append(p.post.To, m.SID)
		}
		return &p.post, nil
	})
}

// repeat takes over the post that is in the history since the first try, with the members that it
// named then.
func (p *posting) repeat(post Post) {
	p.post, p.receipt.Duplicate, p.receipt.TS, p.targets = post, true, post.TS, nil
	for _, sid := range post.To {
		if i := slices.IndexFunc(p.members, func(m one) bool { return m.SID == sid }); i >= 0 {
			p.targets = append(p.targets, p.members[i])
		}
	}
}

// deliver gives the post to its targets as a message, and completes the receipt. If a target does
// not get the message, the post still is new to this member in the room.
func (p *posting) deliver(ctx context.Context) {
	p.receipt.ID, p.receipt.InReplyTo = p.post.ID, p.post.InReplyTo
	p.b.Events.Record(ctx, "room_post", "room_id", p.room.Name, "from_alias", p.post.From, "message_id", p.post.ID)
	m := p.draft.Message
	m.ID, m.TS, m.InReplyTo = p.post.ID, p.post.TS, p.post.InReplyTo
	if p.post.Reason != "" {
		m.Content += ReasonText(p.post.Reason)
	}
	if len(p.targets) > 1 {
		m.Due, m.TellAfter = owed.NotAsked, cmp.Or(m.TellAfter, -1)
	}
	var notes []string
	for _, to := range p.targets {
		if to.isFar() { // the relay sends the post to this member's machine
			p.add(to)
			continue
		}
		r, err := broker.SendFromRoom(ctx, p.b, p.from, p.room.Name, to.SID, m)
		if err != nil {
			p.receipt.Skipped, p.receipt.Why = append(p.receipt.Skipped, to.alias), append(p.receipt.Why, err)
			p.b.Log.Warn("a member is not told of a post that names it", "room", p.room.Name, "member", to.SID, "err", err)
			continue
		}
		p.add(to)
		if r.Note != "" && len(p.targets) <= 3 {
			notes = append(notes, to.alias+": "+r.Note)
		}
	}
	if p.receipt.Note != "" {
		notes = append([]string{p.receipt.Note}, notes...)
	}
	p.receipt.Note = strings.Join(notes, "; ")
	p.wantRelay()
	if p.stopped {
		p.tellStopped(ctx)
	}
}

func (m one) isFar() bool { return isFar(m.SID, m.alias) }

// add adds a target to that list of the receipt that fits: Wakes, Waits, Tells or Sends.
func (p *posting) add(to one) {
	r := &p.receipt
	list := &r.Waits
	switch {
	case to.isFar():
		list = &r.Sends
	case isPerson(to.SID):
		list = &r.Tells
	case p.wakes(to):
		list = &r.Wakes
	}
	*list = append(*list, to.alias)
}

// ReasonText returns the text that is added to a post for all members.
func ReasonText(reason string) string { return "\n\n(To all members, because: " + reason + ")" }
