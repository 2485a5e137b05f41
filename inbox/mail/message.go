// Package mail defines a message: its fields, its form in files, and its text for models and people. It does not
// touch the disk.
package mail

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"c2c/inbox/digest"
	"c2c/inbox/fields"
	"c2c/inbox/random"
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

	Deferrable bool // c2c does not ring for it
	Ephemeral  bool // it is not archived
	FromPerson bool // the sender is a person at a terminal, not an agent
	External   bool // the sender is a program or a person outside c2c, see Origin

	// Its times; package broker sends notices when one passes. 0: not set.
	ExpiresAt float64 // Unix seconds: it is not handed over from then on
	AnswerBy  float64 // Unix seconds: its sender gets a notice if there is no answer by then
	Due       float64 // Unix seconds: its receiver gets a reminder if it has not answered by then
	TellAfter float64 // after so many seconds its sender gets a notice that it is unread; negative: never

	NotBefore float64 // Unix seconds: it is not handed over before; see OpensAt
	Held      string  // its sender's session, if the loop guard holds it

	// The loop guard of package broker counts messages in a row: each was sent because of the message before it, without other work
	// in between. GuardHops is that count. GuardChain is the id of the first message in the row; empty: this message is the first.
	GuardHops  float64
	GuardChain string

	ToAbsent bool // its receiver was absent when it was sent, and its receipt said so

	// FromSession is the sender's session, if the sender chose the id. The id belongs to that session, even when its alias
	// changes. A reader of the OCaml c2c that returns mail to the mailbox drops the field; then the alias counts.
	FromSession string

	KnownBy   string // how c2c knows the sender, see By
	StartedBy string // the alias of the session that has started the sender's client, if c2c has seen it

	Extra []Field // fields of other programs, kept in every rewrite

	// Package inbox sets these when it reads a message. They are in no file.
	ContentDropped bool   // the archive did not keep its content
	LeaseHandle    string // see Handle
	Hidden         bool   // its lease holds it but does not offer it
	Position       int    // of a leased message in its file
}

// Handle names the message in its lease, for the ack. It is the id, except for a second message with the same id.
func (m Message) Handle() string { return cmp.Or(m.LeaseHandle, m.ID) }

// Key distinguishes messages. Their ids do not: two senders may use the same id, two sessions that had the same alias may, and a
// foreign file may have an id twice.
type Key struct {
	Session, From, ID string
	What              string // its content, or its time
	Abroad            string // its receiver on another host: one outbox has mail for several receivers
}

// Key returns the key of the message.
func (m Message) Key() Key { return Key{m.FromSession, m.From, m.ID, m.Content, abroad(m)} }

// abroad returns the receiver if it is on another host, else "". A post in a room of another host, to birch#review@devbox, has its
// receiver here.
func abroad(m Message) string {
	if at := strings.IndexByte(m.To, '@'); at < 0 || strings.IndexByte(m.To[:at], '#') > 0 {
		return ""
	}
	return strings.ToLower(m.To)
}

// RecordKey is Key for a record of the archive, which has the time of an ephemeral message, but not its content.
func (m Message) RecordKey() Key {
	if m.Ephemeral {
		return Key{m.FromSession, m.From, m.ID, string(fields.AppendSeconds(nil, m.TS)), abroad(m)}
	}
	return m.Key()
}

// RoomOf returns the room in the receiver of a post, or "" if the receiver names none. The room stands after a #, as in
// birch#review, or birch#review@devbox if the room is on another host.
func RoomOf(to string) string {
	if _, room, _ := strings.Cut(to, "#"); ValidRoom(room) {
		return room
	}
	return ""
}

// ValidRoom reports whether name may name a room, perhaps on another host. The OCaml c2c allows the same characters.
func ValidRoom(name string) bool {
	room, host, far := strings.Cut(name, "@")
	wrong := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_')
	}
	return room != "" && room[0] != '-' && len(name) <= maxRoom && !strings.ContainsFunc(room, wrong) && (!far || CheckHost(host) == nil)
}

// maxRoom keeps an address such as birch#review within the limit of a receiver.
const maxRoom = 63

// HasChosenID reports whether its sender chose the id.
func (m Message) HasChosenID() bool { return m.FromSession != "" }

// IsRecorded reports whether the archive gets a record of the message, perhaps without its content.
func (m Message) IsRecorded() bool { return !m.Ephemeral || m.HasChosenID() }

// SameReceiver reports whether two messages have the same receiver. All messages of a mailbox have, except in the outbox for another host.
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

// ValidName reports whether s may name a session or a message: it must be safe as a part of a file name on every system. A bad name
// is refused, never repaired, so two names never share a file.
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

// CheckName returns an error unless s is a ValidName. what stands in the error before s, such as "session id".
func CheckName(what, s string) error {
	if ValidName(s) {
		return nil
	}
	return fmt.Errorf("%s %q must have 1 to 128 characters of A-Z a-z 0-9 . _ - and begin with a letter or a digit", what, s)
}

// Sender returns the sender's alias, or its address on another machine, for display outside an envelope. It returns "" for anything
// else, because a peer may send a sentence as its alias.
func (m Message) Sender() string {
	if _, _, remote := SplitAddress(m.From); !remote && CheckAlias(m.From) != nil {
		return ""
	}
	return m.From
}

// CheckAlias returns an error if s cannot be an alias. Some valid aliases are reserved, see sessions.CheckAlias.
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

// SplitAddress splits birch@devbox into the alias of a session and the name of its machine. ok is false if it is not such an
// address.
func SplitAddress(address string) (alias, host string, ok bool) {
	alias, host, ok = strings.Cut(address, "@")
	host = strings.ToLower(host)
	return alias, host, ok && CheckAlias(alias) == nil && CheckHost(host) == nil
}

// IsAddress reports whether name is an alias, or that of a session on another machine: birch or birch@devbox. It is safe to show it
// outside an envelope.
func IsAddress(name string) bool {
	_, _, remote := SplitAddress(name)
	return remote || CheckAlias(name) == nil
}

// SafeAlias returns an alias from a file, or a word in its place if the alias is invalid: it might look like a sentence of c2c.
func SafeAlias(alias string) string {
	if IsAddress(alias) {
		return alias
	}
	return "(unknown)"
}

// ShortSession returns a hash of a session's id. It names the session on another machine if the id itself would be too long there.
func ShortSession(sid string) string {
	sum := digest.Sum256([]byte(sid))
	return hex.EncodeToString(sum[:16])
}

// RemoteSession returns the id that the session of another host has here. If sid is empty, it makes the id from the alias. A host
// name has no dot, so sessions of two hosts never share an id, such as box-1 on dev, and 1 on dev-box.
func RemoteSession(peer, sid, alias string) string {
	if sid == "" {
		sid = "alias-" + strings.ToLower(alias)
	}
	name := "r-" + peer + "." + sid
	if ValidName(name) {
		return name
	}
	return "r-" + peer + "." + ShortSession(sid)
}

// CheckHost returns an error if name cannot name a machine.
func CheckHost(name string) error {
	const most = 63 // the limit of a DNS label
	wrong := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }
	if name == "" || len(name) > most || name[0] == '-' || strings.ContainsFunc(name, wrong) {
		return fmt.Errorf("host %.80q must have 1 to %d characters of a-z 0-9 - and begin with a letter or a digit", name, most)
	}
	return nil
}

// NewID returns a UUIDv7 (RFC 9562 section 5.7). We make it here because the usual package links net, which doubles the start time
// of a hook.
func NewID(now time.Time) string {
	var b [16]byte
	random.Fill(b[6:])
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

// lastTime is the last day that JSON and RFC 3339 can write in any time zone.
var lastTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// FromSeconds converts a time from a file. Other programs write these files, so the number may be anything.
func FromSeconds(s float64) time.Time {
	return time.UnixMicro(int64(min(max(s, 0), Seconds(lastTime)) * 1e6))
}

// Seconds converts a time to Unix seconds, the form in files.
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// textNames are the names of the text fields, in the order of a file. The first three are always there; ts follows them.
var textNames = [...]string{"from_alias", "to_alias", "content", "message_id", "kind", "in_reply_to", "tag", "from_session", "held", "guard_chain",
	"known_by", "started_by"}

// numberNames are the names of the numbers, which follow the texts.
var numberNames = [...]string{"expires_at", "tell_after", "not_before", "answer_by", "due", "guard_hops"}

// numbers points to the fields of numberNames.
func (m *Message) numbers() [len(numberNames)]*float64 {
	return [...]*float64{&m.ExpiresAt, &m.TellAfter, &m.NotBefore, &m.AnswerBy, &m.Due, &m.GuardHops}
}

const (
	required = 3
	content  = 2
)

// texts points to the fields of textNames.
func (m *Message) texts() [len(textNames)]*string {
	return [...]*string{&m.From, &m.To, &m.Content, &m.ID, &m.Kind, &m.InReplyTo, &m.Tag, &m.FromSession, &m.Held, &m.GuardChain, &m.KnownBy, &m.StartedBy}
}

// AppendFields appends the members of the message to b, with sep before the first and commas between them.
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
	if m.Deferrable {
		b = append(b, `,"deferrable":true`...)
	}
	if m.Ephemeral {
		b = append(b, `,"ephemeral":true`...)
	}
	if m.ToAbsent {
		b = append(b, `,"to_absent":true`...)
	}
	if m.FromPerson {
		b = append(b, `,"from_person":true`...)
	}
	if m.External {
		b = append(b, `,"external":true`...)
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

// MarshalJSON writes the message on one line, its fields in a fixed order.
func (m Message) MarshalJSON() ([]byte, error) {
	return append(m.AppendFields(nil, "{"), '}'), nil
}

// UnmarshalJSON reads a message of c2c, of the OCaml c2c or of its Python tools. It returns an error unless data is an object with
// the three strings that all of them write. encoding/json guarantees that data is valid JSON.
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

// Parse fills an empty message. If the content is missing, it sets ContentDropped and returns no error.
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

// set stores one member: text number i, or another field if i is negative. It drops a known field whose value has another type, and
// keeps an unknown field in Extra.
func (m *Message) set(i int, name string, value json.RawMessage) (err error) {
	if i >= 0 {
		s, err := fields.Text(value)
		if err == nil {
			*m.texts()[i] = s
		} else if i < required {
			return fmt.Errorf("not a message: %s must be a string", name)
		}
		return nil
	}
	switch name {
	case "ts":
		if ts, err := strconv.ParseFloat(string(value), 64); err == nil {
			m.TS = ts
		}
	case "deferrable":
		json.Unmarshal(value, &m.Deferrable) // a value of another type leaves the field unset
	case "ephemeral":
		json.Unmarshal(value, &m.Ephemeral)
	case "to_absent":
		json.Unmarshal(value, &m.ToAbsent)
	case "from_person":
		json.Unmarshal(value, &m.FromPerson)
	case "external":
		json.Unmarshal(value, &m.External)
	default:
		if i := slices.Index(numberNames[:], name); i >= 0 {
			if number, err := strconv.ParseFloat(string(value), 64); err == nil {
				*m.numbers()[i] = number
			}
			return nil
		}
		var flat bytes.Buffer
		if err := json.Compact(&flat, value); err != nil {
			return err
		}
		m.Extra = append(m.Extra, Field{name, flat.Bytes()})
	}
	return nil
}

// For errors.Is. Each comes wrapped in an error with the details.
var (
	ErrTooLarge = errors.New("message is too large")
	ErrBody     = errors.New("message cannot be kept")
)

// Bounds of a message, in bytes.
const (
	MaxBody = 256 << 10
	maxName = 128 // of a short field
)

// Check refuses a message that no mailbox could keep.
func (m Message) Check() error { return m.CheckWithin(MaxBody) }

// CheckWithin refuses a message that could not be kept or read back, or whose body has more than most bytes. It checks the size
// first, because a body that was cut off for its size may end in half a character.
func (m Message) CheckWithin(most int) error {
	switch {
	case m.From == "" || m.To == "":
		return fmt.Errorf("%w: it needs a sender and a receiver", ErrBody)
	case len(m.Content) > most:
		return fmt.Errorf("%w: %d bytes, at most %d; put it into a file and send its path", ErrTooLarge, len(m.Content), most)
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

// IsUnnamed reports whether the sender gave no id. Two equal messages of this kind look the same.
func (m Message) IsUnnamed() bool { return m.ID == "" || m.HasLegacyID() }

// LegacyID makes an id for a message that came without one. It is the same at each reading.
func (m Message) LegacyID() string {
	h := digest.New()
	for _, s := range []string{m.From, m.To, strconv.FormatFloat(m.TS, 'f', -1, 64), m.Content} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	sum := h.Sum()
	return fmt.Sprintf(legacyPrefix+"%x", sum[:12])
}
