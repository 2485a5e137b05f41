// Package mail defines a message: its fields, its form in files, and its text for models and
// people. It does not touch the disk.
package mail

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"c2c/internal/fields"
)

// Message is one message.
type Message struct {
	From      string
	To        string
	Content   string
	TS        float64 // Unix seconds
	ID        string  // a UUIDv7, or chosen by the sender
	Kind      string  // message, question, task, review, status, ack, system
	InReplyTo string  // the id of the message that this one answers
	Tag       string  // fail, blocking, urgent

	Deferrable bool // c2c does not ring for the message
	Ephemeral  bool // the message is not archived
	FromPerson bool // the sender is a person, and c2c has checked that
	External   bool // the sender is a program or a person outside c2c, see Origin

	// The times of the message. When one of them has passed, package broker sends a notice. 0: not
	// set.
	ExpiresAt float64 // Unix seconds: from this time on, the message is not handed over
	AnswerBy  float64 // Unix seconds: if there is no answer by this time, the sender gets a notice
	Due       float64 // Unix seconds: if the receiver has not answered by this time, it gets a reminder
	TellAfter float64 // if the message is unread after so many seconds, the sender gets a notice; negative: never

	NotBefore float64 // Unix seconds: before this time, the message is not handed over; see OpensAt
	ShownAt   float64 // Unix seconds: when it was handed over before, and perhaps seen; it waits again, see inbox.Mailbox.PutBack
	Held      string  // the sender's session, if the loop guard holds the message

	// The loop guard (package broker/owed) counts the messages of a chain: each of them was sent
	// because of the message before it, without other work in between. GuardHops is this count.
	// GuardChain is the id of the first message; empty: this message is the first.
	GuardHops  float64
	GuardChain string

	ToAbsent bool // the receiver was absent when the message was sent, and the sender's receipt said so

	// FromSession is set if the sender chose the id: it is the session of the sender. The id
	// belongs to this session, even when the alias of the session changes. If the OCaml c2c returns
	// mail to the mailbox, it drops this field; then the id belongs to the alias.
	FromSession string

	KnownBy   string // how c2c knows the sender, see By
	StartedBy string // the alias of the session that has started the sender's client, if c2c has seen it

	Extra []Field // fields of other programs, kept in every rewrite

	// Package inbox sets the fields below when it reads a message. They are in no file.
	ContentDropped bool   // the archive did not keep the content
	LeaseHandle    string // see Handle
	Hidden         bool   // the lease has the message, but does not offer it
	Position       int    // the position of a leased message in its file; the first is 0
}

// Handle returns the name of the message in its lease, for the ack. This name is the id, except for
// a second message with the same id.
func (m Message) Handle() string { return cmp.Or(m.LeaseHandle, m.ID) }

// Key distinguishes messages. Ids alone do not: two senders may use the same id, and so may two
// sessions that had the same alias one after the other. A file of another program may even have an
// id twice.
type Key struct {
	Session, From, ID string
	What              string // the content, or the time, see RecordKey
	Abroad            string // the receiver if it is on another host, because one outbox has mail for several receivers
	ShownAt           float64
}

// Key returns the key of the message.
func (m Message) Key() Key { return Key{m.FromSession, m.From, m.ID, m.Content, abroad(m), m.ShownAt} }

// abroad returns the receiver if it is on another host, else "". A post to birch#review@devbox is
// in a room of the host devbox, but its receiver, birch, is on this host.
func abroad(m Message) string {
	if at := strings.IndexByte(m.To, '@'); at < 0 || strings.IndexByte(m.To[:at], '#') > 0 {
		return ""
	}
	return strings.ToLower(m.To)
}

// RecordKey is Key for comparing with the archive. The key of an ephemeral message has the time
// instead of the content, because the archive does not keep that content.
func (m Message) RecordKey() Key {
	if m.Ephemeral {
		return Key{m.FromSession, m.From, m.ID, string(fields.AppendSeconds(nil, m.TS)), abroad(m), m.ShownAt}
	}
	return m.Key()
}

// RoomOf returns the room in address, which is the receiver of a post, or "" if there is no room in
// it. The room stands after a #, as in birch#review, or birch#review@devbox if the room is on
// another host.
func RoomOf(address string) string {
	if _, room, _ := strings.Cut(address, "#"); ValidRoom(room) {
		return room
	}
	return ""
}

// ValidRoom reports whether name can be the name of a room, also with a host, as in review@devbox.
// The OCaml c2c allows the same characters.
func ValidRoom(name string) bool {
	room, host, far := strings.Cut(name, "@")
	wrong := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_')
	}
	return room != "" && room[0] != '-' && len(name) <= maxRoom && !strings.ContainsFunc(room, wrong) && (!far || CheckHost(host) == nil)
}

// maxRoom keeps an address such as birch#review within the limit of a receiver.
const maxRoom = 63

// HasChosenID reports whether the sender chose the id.
func (m Message) HasChosenID() bool { return m.FromSession != "" }

// IsRecorded reports whether the archive gets a record of the message, perhaps without its content.
func (m Message) IsRecorded() bool { return !m.Ephemeral || m.HasChosenID() }

// SameReceiver reports whether two messages of one mailbox have the same receiver. They always
// have, except in the outbox for another host.
func SameReceiver(a, b Message) bool { return abroad(a) == abroad(b) }

// SameSender reports whether the same sender gave two messages their ids.
func (m Message) SameSender(other Message) bool {
	if m.HasChosenID() && other.HasChosenID() {
		return m.FromSession == other.FromSession
	}
	return strings.EqualFold(m.From, other.From)
}

// Field is a field of a message that c2c does not know.
type Field struct {
	Name  string
	Value json.RawMessage
}

// ValidName reports whether s can be the id of a session or of a message. Such an id must be safe
// as a part of a file name on every system. Callers refuse an invalid id and never repair it, so
// two ids never share a file.
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > 128 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// CheckName returns an error unless ValidName(s). The argument kind says in the error what s is,
// such as "session id".
func CheckName(kind, s string) error {
	if ValidName(s) {
		return nil
	}
	return fmt.Errorf("%s %q must have 1 to 128 characters of A-Z a-z 0-9 . _ - and begin with a letter or a digit", kind, s)
}

// Sender returns the sender's alias, or the address of a sender on another machine, for display
// outside an envelope. It returns "" for anything else, because a peer may send a sentence as its
// alias.
func (m Message) Sender() string {
	if _, _, remote := SplitAddress(m.From); !remote && CheckAlias(m.From) != nil {
		return ""
	}
	return m.From
}

// CheckAlias returns an error if s cannot be an alias. Some valid aliases are reserved, see
// sessions.CheckAlias.
func CheckAlias(s string) error {
	if len(s) < 1 || len(s) > 64 {
		return fmt.Errorf("alias %q must have 1 to 64 characters", s)
	}
	if s[0] == '.' || s[0] == '-' {
		return fmt.Errorf("alias %q must start with a letter, a digit or an underscore", s)
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-", c) >= 0) {
			return fmt.Errorf("alias %q may only have the letters A to Z, large or small, digits, dot, underscore and hyphen", s)
		}
	}
	return nil
}

// SplitAddress splits an address such as birch@devbox into the alias of a session and its machine.
// If ok is false, it is no such address.
func SplitAddress(address string) (alias, host string, ok bool) {
	alias, host, ok = strings.Cut(address, "@")
	host = strings.ToLower(host)
	return alias, host, ok && CheckAlias(alias) == nil && CheckHost(host) == nil
}

// IsAddress reports whether name is an alias, such as birch, or the address of a session on another
// machine, such as birch@devbox. Such a name is safe outside an envelope.
func IsAddress(name string) bool {
	_, _, remote := SplitAddress(name)
	return remote || CheckAlias(name) == nil
}

// SafeAlias returns an alias from a file, or "(unknown)" if the alias is invalid, because it might
// look like a sentence of c2c.
func SafeAlias(alias string) string {
	if IsAddress(alias) {
		return alias
	}
	return "(unknown)"
}

// ShortSession returns a hash of a session's id. Another machine uses the hash instead of the id if
// the id would be too long there.
func ShortSession(sid string) string {
	sum := sha256.Sum256([]byte(sid))
	return hex.EncodeToString(sum[:16])
}

// RemoteSession returns the id that a session of the host peer has on this machine. If sid is
// empty, it uses the alias instead. The id has a dot after the host name, and a host name has no
// dot, so the sessions of two hosts never share an id. If a hyphen followed the host name, box-1 on
// dev and 1 on dev-box would get the same id.
func RemoteSession(peer, sid, alias string) string {
	return sessionOf("r-"+peer, sid, alias)
}

// ProjectSession is RemoteSession for a session of another project of this user; id is the name of
// that project's root.
func ProjectSession(id, sid, alias string) string { return sessionOf("p-"+id, sid, alias) }

// ProjectOfSession returns the project of a session id that ProjectSession has made.
func ProjectOfSession(sid string) (id string, ok bool) {
	rest, isOther := strings.CutPrefix(sid, "p-")
	id, _, ok = strings.Cut(rest, ".")
	return id, isOther && ok
}

func sessionOf(place, sid, alias string) string {
	if sid == "" {
		sid = "alias-" + strings.ToLower(alias)
	}
	if name := place + "." + sid; ValidName(name) {
		return name
	}
	return place + "." + ShortSession(sid)
}

// CheckHost returns an error if name cannot be the name of a machine.
func CheckHost(name string) error {
	const most = 63 // the limit of a DNS label
	wrong := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }
	if name == "" || len(name) > most || name[0] == '-' || strings.ContainsFunc(name, wrong) {
		return fmt.Errorf("host %.80q must have 1 to %d characters of a-z 0-9 - and begin with a letter or a digit", name, most)
	}
	return nil
}

// NewID returns a UUIDv7 (RFC 9562 section 5.7). We make it here because the usual package links
// net, which doubles the start time of a hook. The random bits are of the runtime's ChaCha8
// generator, which the system has seeded: nobody can guess them. The first use of crypto/rand would
// start a timer, and with it the runtime's poller, which costs four system calls.
func NewID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[8:], rand.Uint64())
	binary.BigEndian.PutUint16(b[6:], uint16(rand.Uint32()))
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	return UUIDOf(7, b)
}

// UUIDOf formats b as a UUID of this version (RFC 9562 section 4).
func UUIDOf(version byte, b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	return HexUUID(b)
}

// HexUUID formats b like a UUID, without setting a version.
func HexUUID(b [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Time returns when the message was sent.
func (m Message) Time() time.Time { return FromSeconds(m.TS) }

// lastTime is the latest time that JSON and RFC 3339 can write in any time zone.
var lastTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// FromSeconds converts a time from a file. Other programs write these files, so the number may be
// anything.
func FromSeconds(s float64) time.Time {
	return time.UnixMicro(int64(min(max(s, 0), Seconds(lastTime)) * 1e6))
}

// Seconds converts a time to Unix seconds, the form in files.
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// textNames are the names of the text fields, in their order in a file. The first three are always
// there, and the field ts follows them.
var textNames = [...]string{"from_alias", "to_alias", "content", "message_id", "kind", "in_reply_to", "tag", "from_session", "held", "guard_chain",
	"known_by", "started_by"}

// flagNames are the names of the fields that are true or missing, which follow the text fields.
var flagNames = [...]string{"deferrable", "ephemeral", "to_absent", "from_person", "external"}

// flags returns pointers to the fields that have the names in flagNames.
func (m *Message) flags() [len(flagNames)]*bool {
	return [...]*bool{&m.Deferrable, &m.Ephemeral, &m.ToAbsent, &m.FromPerson, &m.External}
}

// numberNames are the names of the number fields, which follow the flags.
var numberNames = [...]string{"expires_at", "tell_after", "not_before", "answer_by", "due", "guard_hops", "shown_at"}

// numbers returns pointers to the fields that have the names in numberNames.
func (m *Message) numbers() [len(numberNames)]*float64 {
	return [...]*float64{&m.ExpiresAt, &m.TellAfter, &m.NotBefore, &m.AnswerBy, &m.Due, &m.GuardHops, &m.ShownAt}
}

const (
	required = 3 // the number of text fields that are always there
	content  = 2 // the index of "content" in textNames
)

// texts returns pointers to the fields that have the names in textNames.
func (m *Message) texts() [len(textNames)]*string {
	return [...]*string{&m.From, &m.To, &m.Content, &m.ID, &m.Kind, &m.InReplyTo, &m.Tag, &m.FromSession, &m.Held, &m.GuardChain, &m.KnownBy, &m.StartedBy}
}

// AppendFields appends the fields of the message to b, with sep before the first field and commas
// between the fields.
func (m Message) AppendFields(b []byte, sep string) []byte {
	for i, text := range m.texts() {
		if i < required && !(m.ContentDropped && i == content) || *text != "" {
			b = append(append(append(append(b, sep...), '"'), textNames[i]...), `":`...)
			b = fields.AppendText(b, *text)
			sep = ","
		}
		if i == required-1 {
			b = fields.AppendSeconds(append(b, `,"ts":`...), m.TS)
		}
	}
	for i, flag := range m.flags() {
		if *flag {
			b = append(append(append(b, `,"`...), flagNames[i]...), `":true`...)
		}
	}
	for i, number := range m.numbers() {
		if *number != 0 {
			b = append(append(append(b, `,"`...), numberNames[i]...), `":`...)
			b = fields.AppendSeconds(b, *number)
		}
	}
	b = appendOwed(b, m)
	for _, f := range m.Extra {
		b = append(fields.AppendText(append(b, ','), f.Name), ':')
		b = append(b, f.Value...)
	}
	return b
}

// MarshalJSON writes the message on one line, with its fields in a fixed order.
func (m Message) MarshalJSON() ([]byte, error) {
	return append(m.AppendFields(nil, "{"), '}'), nil
}

// UnmarshalJSON reads a message of c2c, of the OCaml c2c or of its Python tools. It returns an
// error unless data is an object with the three strings that all of them write. encoding/json
// guarantees that data is valid JSON.
func (m *Message) UnmarshalJSON(data []byte) error {
	var out Message
	if err := out.Parse(data); err != nil {
		return err
	}
	if out.ContentDropped {
		return ErrNoMessage
	}
	*m = out
	return nil
}

var ErrNoMessage = errors.New("not a message: from_alias, to_alias and content must be strings")

// Parse fills the empty message m from data. If the content is missing, it sets ContentDropped and
// returns no error.
func (m *Message) Parse(data []byte) error {
	var had [required]bool
	err := fields.Each(data, func(name string, value json.RawMessage) error {
		i := slices.Index(textNames[:], name)
		if i >= 0 && i < required {
			had[i] = true
		}
		return m.set(i, name, value)
	})
	m.ContentDropped = !had[content]
	dropOwed(m)
	if err == nil && !(had[0] && had[1]) {
		err = ErrNoMessage
	}
	return err
}

// The method set stores one field: the text field textNames[i], or if i is negative, the field
// called name. It keeps an unknown field in Extra. It drops a known field whose value has the wrong
// type, but returns an error if that field is required.
func (m *Message) set(i int, name string, value json.RawMessage) (err error) {
	flag, number := slices.Index(flagNames[:], name), slices.Index(numberNames[:], name)
	switch {
	case i >= 0:
		s, err := fields.Text(value)
		if err == nil {
			*m.texts()[i] = s
		} else if i < required {
			return fmt.Errorf("not a message: %s must be a string", name)
		}
	case name == "ts":
		setNumber(&m.TS, value)
	case number >= 0:
		setNumber(m.numbers()[number], value)
	case flag >= 0:
		json.Unmarshal(value, m.flags()[flag]) // a value of another type leaves the field unset
	default:
		var flat bytes.Buffer
		if err := json.Compact(&flat, value); err != nil {
			return err
		}
		m.Extra = append(m.Extra, Field{name, flat.Bytes()})
	}
	return nil
}

func setNumber(to *float64, value json.RawMessage) {
	if n, err := strconv.ParseFloat(string(value), 64); err == nil {
		*to = n
	}
}

// The errors of Check wrap these two, and add the details.
var (
	ErrTooLarge = errors.New("message is too large")
	ErrBody     = errors.New("message cannot be kept")
)

// Bounds of a message, in bytes.
const (
	MaxBody = 256 << 10
	maxName = 128 // of a text field other than the content
)

// Check returns an error for a message that no mailbox can keep: it could not be stored or read
// back, or it is too large. Check looks at the size first, because a body that was cut off for its
// size may end in half a character.
func (m Message) Check() error {
	switch {
	case m.From == "" || m.To == "":
		return fmt.Errorf("%w: it needs a sender and a receiver", ErrBody)
	case len(m.Content) > MaxBody:
		return fmt.Errorf("%w: %d bytes, at most %d; put it into a file and send its path", ErrTooLarge, len(m.Content), MaxBody)
	case !utf8.ValidString(m.Content):
		return fmt.Errorf("%w: it is not valid UTF-8; send text, or encode the bytes first", ErrBody)
	case strings.ContainsRune(m.Content, 0):
		return fmt.Errorf("%w: it has a NUL character; remove it, or encode the bytes first", ErrBody)
	case m.ID != "" && !ValidName(m.ID):
		return fmt.Errorf("%w: %w", ErrBody, CheckName("message id", m.ID))
	}
	for i, text := range m.texts() {
		switch s := *text; {
		case i == content:
		case len(s) > maxName:
			return fmt.Errorf("%w: %s has %d bytes, at most %d", ErrTooLarge, textNames[i], len(s), maxName)
		case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
			return fmt.Errorf("%w: %s %q is not plain text", ErrBody, textNames[i], s)
		}
	}
	return nil
}

const legacyPrefix = "legacy-"

// HasLegacyID reports whether c2c made the id, because the message came without one.
func (m Message) HasLegacyID() bool { return strings.HasPrefix(m.ID, legacyPrefix) }

// IsUnnamed reports whether the sender gave the message no id. If two such messages are equal,
// nothing distinguishes them.
func (m Message) IsUnnamed() bool { return m.ID == "" || m.HasLegacyID() }

// LegacyID makes an id for a message that came without one. Each reading of the message makes the
// same id.
func (m Message) LegacyID() string {
	h := sha256.New()
	for _, s := range []string{m.From, m.To, strconv.FormatFloat(m.TS, 'f', -1, 64), m.Content} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	sum := h.Sum(nil)
	return fmt.Sprintf(legacyPrefix+"%x", sum[:12])
}
