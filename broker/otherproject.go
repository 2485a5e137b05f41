package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/format"
	"c2c/project"
	"c2c/sessions"
)

// A message to amber@shop, if shop is another project of this user, goes through an outbox, like
// one to another machine. The process that sends it also carries it to the mailbox of amber there.
// If that process is killed, the next look at the deadlines of this root carries it: mail in such an
// outbox makes a look due. A mailbox takes each id of a sender only once, so a second try stores
// nothing twice.

// allowPrefix begins the name of a note in a root: agents of the project after it may write here.
const allowPrefix = "allow-"

// carrySize bounds the messages that are carried together, in bytes.
const carrySize = 1 << 20

// projectsCalled returns the other projects of this user that a name may mean, as far as they can be
// read.
func projectsCalled(root, name string) []project.Used {
	all, _ := project.In(project.StateOf(root))
	return slices.DeleteFunc(project.Called(all, name), func(u project.Used) bool { return u.Root == root })
}

// addressee returns the row for a name that is an alias of this root, or an address on another
// machine or in another project. Otherwise it returns nil. A machine comes before a project.
func (b *Broker) addressee(rows []sessions.Row, name string) (sessions.Row, error) {
	if r := b.Receiver(rows, name); r != nil {
		return r, nil
	}
	r := sessions.RemoteRow(name)
	if r == nil {
		return nil, nil
	}
	alias, where, _ := strings.Cut(r.Alias(), "@")
	if paired, err := b.cfg.paired(); err != nil || slices.Contains(paired, where) {
		return r, err
	}
	all, err := project.In(project.StateOf(b.Root()))
	found := project.Called(all, where)
	others := slices.DeleteFunc(slices.Clone(found), func(u project.Used) bool { return u.Root == b.Root() })
	switch {
	case len(others) == 1:
		return sessions.ProjectRow(project.ID(others[0].Root), r.Alias()), nil
	case len(others) > 1:
		var which []string
		for _, p := range others {
			which = append(which, alias+"@"+project.ID(p.Root)+" is in "+folderOf(p.Root))
		}
		return nil, fmt.Errorf("several projects are called %q: %s", where, strings.Join(which, ", "))
	case len(found) > 0:
		return nil, fmt.Errorf("%s is this project: write to %s", where, alias)
	}
	return r, err
}

// folderOf names the place of a project for people.
func folderOf(root string) string {
	all, _ := project.In(project.StateOf(root)) // without it, its root says as much
	for _, u := range all {
		if n := len(u.Folders); u.Root == root && n > 0 {
			return u.Folders[n-1].Path
		}
	}
	return root
}

// LabelOf returns the name of the root's project in addresses, such as shop in amber@shop.
func (cfg Config) LabelOf(root string) string {
	paired, _ := cfg.paired() // if they cannot be read, the label may be that of a machine, which then comes first
	return project.Label(root, paired)
}

// Label returns the name of this project in addresses.
func (b *Broker) Label() string { return b.cfg.LabelOf(b.Root()) }

var (
	errGone    = errors.New("the project is not there any more")
	errExpired = errors.New("it had expired")
	errDenied  = errors.New("takes no messages")
)

// otherRoot returns the root of another project of the same state directory. It returns errGone if
// that root was removed.
func otherRoot(root, id string) (string, error) {
	state := project.StateOf(root)
	other := project.RootAt(state, filepath.Join(state, project.ReposDir, id, "broker"))
	_, err := os.Stat(other)
	if errors.Is(err, fs.ErrNotExist) {
		err = errGone
	}
	if err != nil {
		err = fmt.Errorf("find the root %s of another project: %w", id, err)
	}
	return other, err
}

// openOther opens the root of another project.
func openOther(reg *sessions.Registry, id string) (*Broker, error) {
	root, err := otherRoot(reg.Root(), id)
	if err != nil {
		return nil, err
	}
	return Open(Config{Root: root, Now: reg.Now, Log: reg.Log, Processes: reg.Processes, Uninstalled: reg.Uninstalled, Getenv: reg.Getenv, Hosts: reg.Paired})
}

// checkProject returns an error if the message m must not be sent to a session of another project.
func (b *Broker) checkProject(ctx context.Context, from sessions.Session, to sessions.Row, m mail.Message) error {
	id, is := sessions.ProjectOf(to.SID())
	if !is {
		return nil
	}
	m.From, m.To, m.FromPerson = from.Alias, to.Alias(), from.IsProvenPerson()
	alias := aliasIn(m.To)
	switch {
	case from.State == sessions.External:
		return errors.New("a sender outside writes only to the sessions of one project")
	case sessions.Fold(alias) == "all":
		return errors.New("all is everybody in this project: another one gets a message to one session")
	}
	o, err := openOther(b.Registry, id)
	if err != nil {
		return err
	}
	defer o.Close()
	rows, err := o.Rows(ctx)
	if err == nil {
		err = b.checkAllowed(ctx, o, rows, m)
	}
	if err == nil && o.Receiver(rows, alias) == nil {
		return unknownThere(sessions.UnknownAlias(o.Registry, rows, alias), strings.TrimPrefix(m.To, alias))
	}
	return err
}

// checkAllowed returns an error, errDenied, if the message m of an agent must not go to a session
// of the other project o, which has these rows.
func (b *Broker) checkAllowed(ctx context.Context, o *Broker, rows []sessions.Row, m mail.Message) error {
	if m.FromPerson || m.IsNotice() {
		return nil
	}
	if ok, err := o.takesFrom(ctx, project.ID(b.Root()), rows, o.Receiver(rows, aliasIn(m.To)), m.InReplyTo); ok || err != nil {
		return err
	}
	label := b.Label()
	return fmt.Errorf("%s %w from agents of %s, except answers; to allow it, a person runs: cd %s && c2c project allow %s",
		o.Label(), errDenied, label, folderOf(o.Root()), label)
}

// unknownThere completes an error about an alias of another project: place is @ and its name.
func unknownThere(e *sessions.UnknownAliasError, place string) error {
	e.Alias += place
	for i := range e.Closest {
		e.Closest[i] += place
	}
	if e.Now != "" {
		e.Now += place
	}
	return e
}

// takesFrom reports whether this root takes a message of an agent of another project: a person has
// allowed that project, or the message answers one that its receiver to has sent there.
func (b *Broker) takesFrom(ctx context.Context, id string, rows []sessions.Row, to sessions.Row, answers string) (bool, error) {
	if _, err := b.Dir().ReadNote(allowPrefix + id); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	if answers == "" || to == nil {
		return false, nil
	}
	box, err := b.Mailbox(sessions.ProjectRow(id, "").SID())
	if err != nil {
		return false, err
	}
	sent, err := box.Find(ctx, answers)
	authors := b.Authors(rows)
	return slices.ContainsFunc(sent, func(f inbox.Found) bool {
		return authors.Wrote(to.SID(), f.Message)
	}), err
}

// aliasIn returns the alias in an address.
func aliasIn(address string) string {
	alias, _, _ := strings.Cut(address, "@")
	return alias
}

// carryNow carries a message that was just stored in the outbox, and notes in the receipt what its
// receiver does, or why the message still waits here. An error means that the message was refused
// for good.
func (s *sending) carryNow(ctx context.Context, r *Receipt) error {
	b := s.b
	id, _ := sessions.ProjectOf(s.to.SID())
	var refused error
	err := b.carry(ctx, id, func(m mail.Message, why error) error {
		if m.ID == s.message.ID && m.SameSender(s.message) && mail.SameReceiver(m, s.message) {
			refused = why // the sender gets it as an error
			return nil
		}
		return TellRefused(ctx, b, s.to.SID(), m, why.Error())
	})
	switch {
	case refused != nil:
		owed.CloseMessages(ctx, b.Registry, s.to.SID(), sessions.Dead, []mail.Message{s.message})
		return errors.Join(refused, err) // err may say that the outbox still has the message
	case err != nil:
		r.Note = "it waits here, and c2c tries again: " + err.Error()
		return nil
	}
	o, err := openOther(b.Registry, id)
	if err != nil {
		return nil
	}
	defer o.Close()
	rows, err := o.Rows(ctx)
	row := o.Receiver(rows, aliasIn(s.to.Alias()))
	if err != nil || row == nil {
		return nil
	}
	reader, look := o.Session(row), o.Prober()
	r.Recipient, r.Now = reader.State, look.Now(reader, false)
	if !r.Held {
		r.Note = cmp.Or(r.Note, look.Note(reader, r.Now, s.message.Deferrable))
	}
	return nil
}

// NewChecker makes a checker for the deadlines of this root, which also carries the mail that waits
// for other projects. It shows news by means of show, which may be nil.
func NewChecker(b *Broker, show owed.Show) *owed.Checker {
	c := owed.NewChecker(b.Registry)
	c.Show, c.Carry = show, func(ctx context.Context, id string) error {
		return b.carry(ctx, id, func(m mail.Message, why error) error {
			return TellRefused(ctx, b, sessions.ProjectRow(id, "").SID(), m, why.Error())
		})
	}
	return c
}

// carry carries the mail in the outbox for another project, in its order. It calls refuse for each
// message that would be refused again, before it removes the message.
func (b *Broker) carry(ctx context.Context, id string, refuse func(m mail.Message, why error) error) error {
	sid := sessions.ProjectRow(id, "").SID()
	box, err := b.Mailbox(sid)
	if err != nil {
		return err
	}
	if some, err := box.Used(); err != nil || !some {
		return err
	}
	o, err := openOther(b.Registry, id)
	if err == nil {
		defer o.Close()
	} else if !errors.Is(err, errGone) {
		return err
	}
	return b.Locks.With(ctx, sid+".carry.lock", func() error {
		for more := true; more; {
			l, err := box.LeaseAll(ctx, inbox.ByRelay, carrySize)
			if err != nil {
				return err
			}
			stored, refused, err := b.carryLeased(ctx, o, l.Messages, refuse)
			if err = errors.Join(err, l.AckAndRemove(ctx, stored, refused)); err != nil {
				return err
			}
			more = l.More && len(l.Messages) > 0
		}
		return nil
	})
}

// carryLeased stores leased messages in the mailboxes of the other project o, which is nil if it is
// gone. The result stored has the handles of those that are there now, the result refused of those
// that would be refused again. It stops at the first message that must be tried again.
func (b *Broker) carryLeased(ctx context.Context, o *Broker, msgs []mail.Message, refuse func(m mail.Message, why error) error) (stored, refused []string, err error) {
	label := b.Label()
	for _, m := range msgs {
		err := b.carryOne(ctx, o, m, label)
		if err == nil {
			stored = append(stored, m.Handle())
			continue
		}
		if Refusal(err) != "" {
			err = refuse(m, err)
		}
		if err != nil {
			return stored, refused, err
		}
		refused = append(refused, m.Handle())
	}
	return stored, refused, nil
}

// carryOne is carryLeased for one message; label is the name of this project in addresses. A message
// may have waited, so a person may have taken the permission back meanwhile, or merged the other
// project into one that has not given it.
func (b *Broker) carryOne(ctx context.Context, o *Broker, m mail.Message, label string) error {
	if o == nil {
		return errGone
	}
	if m.Expired(mail.Seconds(b.Now())) {
		return errExpired
	}
	rows, err := o.Rows(ctx)
	if err == nil {
		err = b.checkAllowed(ctx, o, rows, m)
	}
	if err != nil {
		return err
	}
	there := m
	there.FromSession, there.From, there.ShownAt = mail.ProjectSession(project.ID(b.Root()), m.FromSession, m.From), m.From+"@"+label, 0
	if m.Held != "" {
		there.Held = there.FromSession
	}
	if m.IsNotice() {
		there.KnownBy = mail.ByProcess // c2c itself, which runs here
	}
	_, err = Receive(ctx, o, aliasIn(m.To), []mail.Message{there}, true)
	return err
}

// Refusal returns why a message would be refused again, as a word of relay.Reason, or of mail for
// another project as a word like that; "" if it may be taken the next time.
func Refusal(err error) string {
	switch {
	case errors.As(err, new(*sessions.UnknownAliasError)):
		return "unknown"
	case errors.Is(err, inbox.ErrFull):
		return "full"
	case errors.As(err, new(*inbox.IDTakenError)):
		return "taken"
	case errors.Is(err, ErrBlocked):
		return "blocked"
	case errors.Is(err, errGone):
		return "gone"
	case errors.Is(err, errExpired):
		return "expired"
	case errors.Is(err, errDenied):
		return "forbidden"
	}
	return ""
}

// projectStatus finds out how far a message for another project has come.
func (l *Lister) projectStatus(st *MessageStatus, found inbox.Found, id string) {
	m := found.Message
	st.State, st.At, st.By = sessions.Queued, m.Time().UTC(), ""
	_, st.Project, _ = strings.Cut(m.To, "@")
	if found.Where != inbox.Archived || found.By != inbox.ByRelay {
		return
	}
	st.StoredThere = found.At.UTC()
	o, err := openOther(l.reg, id)
	if err != nil {
		st.Why = err.Error()
		return
	}
	defer o.Close()
	ctx, end := context.WithTimeout(context.Background(), sessions.KeepWait) // a suspended process may hold a lock for days
	defer end()
	there, err := o.statusOfOther(ctx, m, project.ID(l.reg.Root()))
	if err != nil {
		st.Why = err.Error()
		return
	}
	st.there = &there
	st.State, st.At, st.HandedAt, st.By, st.Reason = there.State, there.At, there.HandedAt, there.By, there.Reason
}

// statusOfOther returns the status of a message m that was carried here from another project.
func (b *Broker) statusOfOther(ctx context.Context, m mail.Message, from string) (MessageStatus, error) {
	sender := mail.ProjectSession(from, m.FromSession, m.From)
	rows, err := b.Rows(ctx)
	if err != nil {
		return MessageStatus{}, err
	}
	if r := b.Receiver(rows, aliasIn(m.To)); r != nil { // usually it is in this mailbox, so no other is read
		box, err := b.Mailbox(r.SID())
		if err != nil {
			return MessageStatus{}, err
		}
		found, err := box.Find(ctx, m.ID)
		if i := slices.IndexFunc(found, func(f inbox.Found) bool { return f.Message.FromSession == sender }); err == nil && i >= 0 {
			return b.mailOf(ctx, r.SID(), found[i]).Status, nil
		}
	}
	all, err := b.withWay(ctx, m.ID)
	for _, one := range all {
		if one.FromSession == sender {
			return one.Status, nil
		}
	}
	return MessageStatus{}, errors.Join(err, fmt.Errorf("message %q: %w there", mail.ShortID(m.ID), ErrNoMessage))
}

// tellProject completes the status of a message to another project.
func tellProject(reg *sessions.Registry, st *MessageStatus) {
	switch {
	case st.StoredThere.IsZero():
		st.Why, st.Do = "it waits here: c2c could not store it in "+st.Project+" yet, and tries again", "c2c send to "+st.To+" says what is wrong"
	case st.there != nil:
		st.Way = append(st.Way, "stored in "+st.Project+" at "+format.Clock(st.StoredThere, reg.Now()))
		st.Way = append(st.Way, st.there.Way[min(1, len(st.there.Way)):]...)
		st.Why, st.Do, st.Receiver = st.there.Why, st.there.Do, st.there.Receiver
	}
}

// Allowed returns the projects whose agents may write to sessions of this root.
func Allowed(b *Broker) (labels []string, err error) {
	names, err := b.Dir().Names()
	for _, name := range names {
		if id, is := strings.CutPrefix(name, allowPrefix); is {
			if root, err := otherRoot(b.Root(), id); err != nil {
				labels = append(labels, id)
			} else if project.ID(root) == id { // otherwise it was merged into another root, which needs a permission of its own
				labels = append(labels, b.cfg.LabelOf(root))
			}
		}
	}
	return labels, err
}

// AllowProject lets agents of another project write to sessions of this root, or no longer. The
// other project is named by its root.
func AllowProject(b *Broker, root string, may bool) error {
	id := project.ID(root)
	if root == b.Root() {
		return fmt.Errorf("this is %s itself: name the project whose agents may write here", b.Label())
	}
	if id == "" {
		return fmt.Errorf("%s is not another project of this user", root)
	}
	var err error
	if may {
		err = b.Dir().MakeNote(allowPrefix+id, "a person has allowed it")
		if errors.Is(err, os.ErrExist) {
			err = nil
		}
	} else {
		err = atomicfile.UnlessAbsent(b.Dir().Remove(allowPrefix + id))
	}
	return errors.Join(err, b.Dir().Sync())
}
