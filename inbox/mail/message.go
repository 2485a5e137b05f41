// Package mail defines a message: its fields, its form in files, and its text for models and people. It does not
// touch the disk.
package mail

import (
	"bytes"
	"cmp"
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

// Message is one message, as it waits and as it is handed over.
type Message struct {
	From      string
	To        string
	Content   string
	TS        float64 // Unix seconds
	ID        string  // UUIDv7, or what the sender chose
	Kind      string  // message, question, task, review, status, ack, system
	InReplyTo string  // the id of the message that this one answers
	Tag       string  // fail, blocking, urgent

	Deferrable bool // rings nobody
	Ephemeral  bool // is not archived
	FromPerson bool // the sender is a person at a terminal, and no agent
	External   bool // the sender is a program or a person outside of this machine's sessions, see Origin

	// Its deadlines, beside being read; package broker notifies when one passes. 0: none was set.
	ExpiresAt float64 // Unix seconds: not handed over from then on
	AnswerBy  float64 // Unix seconds: its sender is told when there is no answer by then
	Due       float64 // Unix seconds: its receiver is reminded when it has not answered by then
	TellAfter float64 // seconds after which its sender is told that nobody has read it; negative: never

	NotBefore float64 // Unix seconds: not handed over before; see OpensAt
	Held      string  // its sender's session, when the loop guard holds it

	// The loop guard of package broker counts here how many messages in a row, each sent because of the one before, nobody
	// has worked between. GuardChain is the id of the first of them; empty: this one is.
	GuardHops  float64
	GuardChain string

	ToAbsent bool // its receiver was absent when it was sent, and its sender was told so

	// FromSession is the sender's session, when it chose the id. The id belongs to that session, whatever its
	// alias is called later. A reader of the original that gives mail back drops it; then the alias counts.
	FromSession string

	Extra []Field // fields of other programs, kept through every rewrite

	// What package inbox notes of a message that it has read. It stands in no file.
	ContentDropped bool   // the archive has no content of it
	LeaseHandle    string // see Handle
	Hidden         bool   // its lease does not offer it
	Position       int    // of a leased one, in its file
}

// Handle names the message in its lease, for the ack. It is the id, and something else for a second message
// that has the same id.
func (m Message) Handle() string { return cmp.Or(m.LeaseHandle, m.ID) }

// Key tells messages apart. Two senders may use one id, also two sessions that had one alias, and a file written
// by others may use it twice.
type Key struct {
	Session, From, ID string
	What              string // its content, or its time
	Abroad            string // its receiver, if that is on another host: one outbox has the mail for several
}

// Key tells the message from others.
func (m Message) Key() Key { return Key{m.FromSession, m.From, m.ID, m.Content, abroad(m)} }

// abroad is the receiver, if that is on another host.
func abroad(m Message) string {
	if strings.IndexByte(m.To, '@') < 0 {
		return ""
	}
	return strings.ToLower(m.To)
}

// RecordKey is Key as far as the archive keeps it: of an ephemeral message the time is kept, not the content.
func (m Message) RecordKey() Key {
	if m.Ephemeral {
		return Key{m.FromSession, m.From, m.ID, string(fields.AppendSeconds(nil, m.TS)), abroad(m)}
	}
	return m.Key()
}

// HasChosenID says whether its sender chose the id.
func (m Message) HasChosenID() bool { return m.FromSession != "" }

// IsRecorded says whether the archive notes the message, with its content or without.
func (m Message) IsRecorded() bool { return !m.Ephemeral || m.HasChosenID() }

// SameReceiver says whether two messages are for one receiver. In a mailbox all are, but for that of what goes to another host.
func SameReceiver(a, b Message) bool { return abroad(a) == abroad(b) }

// SameSender says whether the ids of two messages are of one sender.
func (m Message) SameSender(other Message) bool {
	if m.HasChosenID() && other.HasChosenID() {
		return m.FromSession == other.FromSession
	}
	return strings.EqualFold(m.From, other.From)
}

// Field is a field that c2c does not know.
type Field struct {
	Name  string
	Value json.RawMessage
}

// ValidName says whether s may name a session or a message: it must be safe as
// a part of a file name on every system. Two names never share a file, because
// a bad one is refused and not mended.
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

// CheckName is ValidName with a sentence. what says what s names.
func CheckName(what, s string) error {
	if ValidName(s) {
		return nil
	}
	return fmt.Errorf("%s %q: 1 to 128 of A-Z a-z 0-9 . _ -, first a letter or digit", what, s)
}

// Sender is the sender's alias, or its address on another machine, for those who show it outside an envelope. It is "" for
// anything else: a peer may have put a sentence there.
func (m Message) Sender() string {
	if _, _, remote := SplitAddress(m.From); !remote && CheckAlias(m.From) != nil {
		return ""
	}
	return m.From
}

// CheckAlias says why s cannot be an alias. Some that can are reserved, see package broker.
func CheckAlias(s string) error {
	if len(s) < 1 || len(s) > 64 {
		return fmt.Errorf("alias %q must have 1 to 64 characters", s)
	}
	if s[0] == '.' || s[0] == '-' {
		return fmt.Errorf("alias %q must start with a letter, a digit or an underscore", s)
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-", c) >= 0) {
			return fmt.Errorf("alias %q may only have letters, digits, dot, underscore and hyphen", s)
		}
	}
	return nil
}

// SplitAddress takes birch@devbox apart: the alias of a session, and the name that its machine has here. ok is false for what is no
// such address.
func SplitAddress(address string) (alias, host string, ok bool) {
	alias, host, ok = strings.Cut(address, "@")
	host = strings.ToLower(host)
	return alias, host, ok && CheckAlias(alias) == nil && CheckHost(host) == nil
}

// CheckHost says why name cannot be that of a machine.
func CheckHost(name string) error {
	const most = 63 // that of a label in DNS
	wrong := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }
	if name == "" || len(name) > most || name[0] == '-' || strings.ContainsFunc(name, wrong) {
		return fmt.Errorf("host %.80q: 1 to %d of a-z 0-9 -, first a letter or digit", name, most)
	}
	return nil
}

// NewID returns a UUIDv7 (RFC 9562 section 5.7). It is written out here
// because the usual package links net and doubles the start of a hook.
func NewID(now time.Time) string {
	var b [16]byte
	random.Fill(b[6:])
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	return UUIDOf(7, b)
}

// UUIDOf writes b as a UUID of a version (RFC 9562 section 4).
func UUIDOf(version byte, b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	return HexUUID(b)
}

// HexUUID writes b in the form of a UUID, whatever its version.
func HexUUID(b [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Time is when the message was sent.
func (m Message) Time() time.Time { return FromSeconds(m.TS) }

// lastTime is the last day that JSON and RFC 3339 can write, whatever the zone.
var lastTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// FromSeconds is the time of a number in a file. Others write these files, so the number may be any.
func FromSeconds(s float64) time.Time {
	return time.UnixMicro(int64(min(max(s, 0), Seconds(lastTime)) * 1e6))
}

// Seconds is a time as files have it.
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// textNames are the names of the text fields, in the order of a file. The first three are always there; ts is behind them.
var textNames = [...]string{"from_alias", "to_alias", "content", "message_id", "kind", "in_reply_to", "tag", "from_session", "held", "guard_chain"}

// numberNames are the names of the numbers, which stand behind the texts.
var numberNames = [...]string{"expires_at", "tell_after", "not_before", "answer_by", "due", "guard_hops"}

// numbers are the fields of those names.
func (m *Message) numbers() [len(numberNames)]*float64 {
	return [...]*float64{&m.ExpiresAt, &m.TellAfter, &m.NotBefore, &m.AnswerBy, &m.Due, &m.GuardHops}
}

const (
	required = 3
	content  = 2
)

// texts are the fields of those names.
func (m *Message) texts() [len(textNames)]*string {
	return [...]*string{&m.From, &m.To, &m.Content, &m.ID, &m.Kind, &m.InReplyTo, &m.Tag, &m.FromSession, &m.Held, &m.GuardChain}
}

// AppendFields writes the members of the message, each led by sep, then comma.
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

// UnmarshalJSON reads a message of c2c, of the original or of its Python tools.
// Anything but an object with the three strings that all of them write is an error.
// As encoding/json promises, data is valid JSON.
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

var ErrNoMessage = errors.New("no message: from_alias, to_alias and content must be strings")

// Parse fills an empty message. That content is missing is for the caller to judge.
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

// set stores one member: number i of the texts, or another one when i is negative. A known name with a value of
// another type is left out. An unknown name is kept as somebody else's field.
func (m *Message) set(i int, name string, value json.RawMessage) (err error) {
	if i >= 0 {
		s, err := fields.Text(value)
		if err == nil {
			*m.texts()[i] = s
		} else if i < required {
			return fmt.Errorf("no message: %s is not a string", name)
		}
		return nil
	}
	switch name {
	case "ts":
		if ts, err := strconv.ParseFloat(string(value), 64); err == nil {
			m.TS = ts
		}
	case "deferrable":
		json.Unmarshal(value, &m.Deferrable) // which leaves it as it is when the value is of another type
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

// What a sender can test for. Each comes wrapped in a sentence of its own.
var (
	ErrTooLarge = errors.New("message is too large")
	ErrBody     = errors.New("message cannot be kept")
)

// Bounds of a message, in bytes.
const (
	MaxBody = 256 << 10
	maxName = 128 // of its short fields
)

// Check refuses what no mailbox could keep.
func (m Message) Check() error { return m.CheckWithin(MaxBody) }

// CheckWithin refuses what could not be kept or read back, and a body of more bytes. The size first: a body that
// was cut off because it is too large may end in half a character.
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

// HasLegacyID says that the message came without an id. Two equal ones stay two.
func (m Message) HasLegacyID() bool { return strings.HasPrefix(m.ID, legacyPrefix) }

// IsUnnamed says that the sender gave no id, so that nothing tells the message from an equal one.
func (m Message) IsUnnamed() bool { return m.ID == "" || m.HasLegacyID() }

// LegacyID names a message of a writer that gives no ids, the same at each reading.
func (m Message) LegacyID() string {
	h := digest.New()
	for _, s := range []string{m.From, m.To, strconv.FormatFloat(m.TS, 'f', -1, 64), m.Content} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	sum := h.Sum()
	return fmt.Sprintf(legacyPrefix+"%x", sum[:12])
}
