package sessions

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"

	"c2c/client"
	"c2c/inbox/mail"
)

// Fold lowers the case of an alias, so that spellings can be compared. Aliases are ASCII.
func Fold(s string) string { return strings.ToLower(s) }

// Holders returns the rows with an alias, ignoring case.
func Holders(rows []Row, alias string) []Row {
	var found []Row
	for _, r := range rows {
		if Fold(r.Alias()) == Fold(alias) {
			found = append(found, r)
		}
	}
	return found
}

// SystemAlias is the sender of c2c's own messages. No session can have this alias, and no answer
// can be sent to it.
const SystemAlias = mail.SystemAlias

// ClientHuman is the client_type of a person at a terminal.
const ClientHuman = "human"

const PersonPrefix = "person-"

// IsPersonID reports whether a session id is reserved for a person, in upper or lower case, because
// some file systems ignore case.
func IsPersonID(sid string) bool {
	uid, ok := strings.CutPrefix(Fold(sid), PersonPrefix)
	return ok && uid != "" && strings.Trim(uid, "0123456789") == ""
}

// Values of Session.Client for the session of a sender outside.
const (
	ClientExternal = "external"        // a program with a token, which can read its answers
	ClientSigned   = "external-signed" // a service that signs what it sends, and reads nothing
	ClientDenied   = "external-denied" // a sender whose key was taken away
)

// IsExternalID reports whether a session id or an alias is reserved for senders outside, in any
// case.
func IsExternalID(name string) bool { return strings.HasPrefix(Fold(name), mail.ExternalPrefix) }

// HostPrefix begins the id of an outbox, the mailbox with the mail for another machine. An outbox
// is in no registry.
const HostPrefix = "host-"

// IsHostID reports whether a session id is reserved for another machine.
func IsHostID(sid string) bool { return strings.HasPrefix(Fold(sid), HostPrefix) }

// projectOutbox begins the id of an outbox for another project of this user. A machine's name has no
// dot.
const projectOutbox = HostPrefix + "p."

// ProjectOf returns the project whose mail an outbox has.
func ProjectOf(sid string) (id string, ok bool) { return strings.CutPrefix(sid, projectOutbox) }

// ProjectRow is RemoteRow for a session of another project; id is the name of that project's root.
func ProjectRow(id, address string) Row {
	var r Row
	r.SetText("session_id", projectOutbox+id)
	r.SetText("alias", address)
	return r
}

// RemoteRow makes a row for a session or a room on another machine from its address, such as
// birch@devbox or #review@devbox. It returns nil if address is no such address. The row is in no
// registry.
func RemoteRow(address string) Row {
	name := strings.TrimPrefix(address, "#")
	alias, host, ok := mail.SplitAddress(name)
	if !ok {
		return nil
	}
	var r Row
	r.SetText("session_id", HostPrefix+host)
	r.SetText("alias", address[:len(address)-len(name)]+alias+"@"+host)
	return r
}

// Elsewhere returns the row of the session on another machine or in another project that has sent a
// message. It returns nil for a message from here.
func Elsewhere(m mail.Message) Row {
	r := RemoteRow(m.From)
	if id, is := mail.ProjectOfSession(m.FromSession); is && r != nil {
		return ProjectRow(id, m.From)
	}
	return r
}

// CheckExternal returns an error for the session of a sender outside, and for the mailbox of
// another machine. No local session may use these ids, because a message with such an id counts as
// written by that sender or machine.
func CheckExternal(sid string) error {
	if IsHostID(sid) {
		return fmt.Errorf("session %q is the mail for another machine; nobody here may use it", sid)
	}
	if IsExternalID(sid) {
		return fmt.Errorf("session %q belongs to a sender outside, which shows a token over HTTP; nobody here may use it", sid)
	}
	return nil
}

// UnknownAliasError says that no session has the alias. If a session had it, Now is the present
// alias of the last one, and Closest has only that. Otherwise Closest has up to three aliases that
// are similar.
type UnknownAliasError struct {
	Alias, Now string
	Closest    []string
}

func (e *UnknownAliasError) Error() string {
	if e.Now != "" {
		return fmt.Sprintf("no such alias %q: it is %q now", e.Alias, e.Now)
	}
	return fmt.Sprintf("no such alias %q", e.Alias)
}

// Unwrap returns ErrNoSession.
func (e *UnknownAliasError) Unwrap() error { return ErrNoSession }

// CheckAlias returns an error if s cannot be an alias.
func CheckAlias(s string) error {
	if err := mail.CheckAlias(s); err != nil {
		return err
	}
	if strings.HasSuffix(s, ".") {
		return fmt.Errorf("alias %q must not end with a dot: in @%[1]s the dot would end a sentence", s)
	}
	if IsPersonID(s) {
		return fmt.Errorf("alias %q is reserved for a person", s)
	}
	if IsExternalID(s) {
		return fmt.Errorf("alias %q is reserved for a sender outside", s)
	}
	switch Fold(s) {
	case "all": // a message to it would look like a message to all sessions
		return fmt.Errorf("alias %q is reserved: c2c send all writes to everybody", s)
	case "c2c", SystemAlias, "broker": // senders of c2c's own messages
		return fmt.Errorf("alias %q is reserved for c2c itself", s)
	}
	return nil
}

// NewAlias makes an alias that no session has.
func NewAlias(rows []Row, clientName string) string {
	prefix := clientName
	if p, ok := client.Find(clientName); ok {
		prefix = p.AliasPrefix
	}
	if CheckAlias(prefix+"-") != nil || len(prefix) > 32 {
		prefix = "session"
	}
	return FreeAlias(rows, prefix+"-"+word()+"-"+word())
}

// FreeAlias returns the alias if no session has it. Otherwise it appends the lowest number that
// makes the alias free, such as birch-2.
func FreeAlias(rows []Row, alias string) string {
	free := alias
	for n := 2; len(Holders(rows, free)) > 0; n++ {
		suffix := "-" + strconv.Itoa(n)
		free = alias[:min(len(alias), 64-len(suffix))] + suffix
	}
	return free
}

const words = `acorn alder amber aspen basil beech birch bloom brook cedar clay cliff cloud clover comet coral
	crane creek daisy dawn delta dune echo ember fern field finch fjord flint frost grove harbor hazel heron
	holly indigo iris ivory jade juniper kelp lake larch laurel lichen lilac linden lotus maple marsh meadow
	mint moss north oak oasis olive onyx opal orchid osprey otter pearl pebble pine plum pond poplar quartz
	rain raven reed ridge river robin rowan sage sand shore slate snow sorrel spruce stone storm summit swan
	teal thistle thyme tide topaz tulip valley violet walnut wave willow wren yarrow zephyr`

func word() string {
	list := strings.Fields(words)
	return list[rand.IntN(len(list))]
}

// UnknownAlias returns the error for an alias that no session has.
func UnknownAlias(reg *Registry, rows []Row, alias string) *UnknownAliasError {
	e, until, all := &UnknownAliasError{Alias: alias}, 0.0, []string{}
	for _, r := range rows {
		all = append(all, r.Alias())
		for _, f := range reg.Facts.Of(r.SID()).Former {
			if Fold(f.Alias) == Fold(alias) && f.Until > until {
				e.Now, until = r.Alias(), f.Until
			}
		}
	}
	if e.Closest = Closest(alias, all); e.Now != "" {
		e.Closest = []string{e.Now}
	}
	return e
}

// Closest returns up to three words that are similar to word: one of the two begins with the other,
// or they differ in a few letters.
func Closest(word string, words []string) []string {
	want := Fold(word)
	far := func(have string) int {
		have = Fold(have)
		if strings.HasPrefix(have, want) || strings.HasPrefix(want, have) {
			return 1
		}
		return distance(want, have)
	}
	most := max(2, len(want)/3)
	if len(want) < 4 {
		most = 1
	}
	var near []string
	for _, have := range words {
		if want != "" && far(have) <= most {
			near = append(near, have)
		}
	}
	sort.SliceStable(near, func(i, j int) bool { return far(near[i]) < far(near[j]) })
	return near[:min(3, len(near))]
}

// distance is the Levenshtein distance: how many letters to insert, drop or replace.
func distance(a, b string) int {
	line := make([]int, len(b)+1)
	for j := range line {
		line[j] = j
	}
	for i := range len(a) {
		diagonal := line[0]
		line[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = line[j+1]
			line[j+1] = min(d, line[j]+1, line[j+1]+1)
		}
	}
	return line[len(b)]
}

// AliasTakenError says that another session has the alias, and is alive or may be alive.
type AliasTakenError struct {
	Alias     string // in the spelling of the session that has it
	Suggested string // free at this moment
	Process   int    // the process of that session; 0: not known
	Person    bool   // it is that of a person
}

func (e *AliasTakenError) Error() string {
	if e.Person {
		return fmt.Sprintf("alias %q is the name of a person here, under which agents write to them; %q is free", e.Alias, e.Suggested)
	}
	return fmt.Sprintf("alias %q belongs to another session; %q is free", e.Alias, e.Suggested)
}

// CheckFree returns an *AliasTakenError if a new session of the client cannot have the alias. The
// result left is the session that has the alias, if its client lives but no window shows it;
// otherwise nil. The function away asks the client whether a session has no window, because c2c
// itself learns this only by a ring.
func CheckFree(ctx context.Context, reg *Registry, alias, clientName string, away func(Session) bool) (left *Session, err error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range Holders(rows, alias) {
		s := reg.Session(r)
		if s.State == Absent {
			continue
		}
		l, err := reg.Look(s)
		if err != nil || s.Client != clientName || l.Now.Does != Away && !away(s) {
			return nil, errors.Join(&AliasTakenError{Alias: s.Alias, Suggested: FreeAlias(rows, alias), Person: s.State == Person}, err)
		}
		left = &s
	}
	return left, nil
}
