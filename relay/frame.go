package relay

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"c2c/inbox/mail"
)

const (
	maxCount = 256                       // the most messages in a frame
	maxFrame = 800 << 10                 // the most bytes of the messages in a frame, before they are sealed
	maxMeta  = 16 << 10                  // the most bytes of a message without its content
	longest  = 10 * 366 * 24 * time.Hour // the longest time span that a message may have
)

// meta is the form of a message in a packet, without the content. Times are seconds from now,
// because the clocks of two hosts may differ. The name of the sending host is left out: the
// receiver knows the host by its key.
type meta struct {
	From         string  `json:"from"` // an alias of the sending host
	Session      string  `json:"session,omitempty"`
	To           string  `json:"to"` // an alias of the receiving host
	ID           string  `json:"id"`
	Age          float64 `json:"age,omitempty"` // seconds since the message was sent
	Kind         string  `json:"kind,omitempty"`
	InReplyTo    string  `json:"in_reply_to,omitempty"`
	Tag          string  `json:"tag,omitempty"`
	Deferrable   bool    `json:"deferrable,omitempty"`
	Ephemeral    bool    `json:"ephemeral,omitempty"`
	FromPerson   bool    `json:"from_person,omitempty"`
	Held         bool    `json:"held,omitempty"`
	ExpiresIn    float64 `json:"expires_in,omitempty"`
	AnswerWithin float64 `json:"answer_within,omitempty"`
	DueIn        float64 `json:"due_in,omitempty"`
	NotBeforeIn  float64 `json:"not_before_in,omitempty"`
	TellAfter    float64 `json:"tell_after,omitempty"`
	Hops         float64 `json:"hops,omitempty"`
	Chain        string  `json:"chain,omitempty"`
}

// spans returns, for each field that is a time, a pointer to the time in the message and a pointer
// to the span in meta.
func (w *meta) spans(m *mail.Message) [4]struct{ at, in *float64 } {
	return [4]struct{ at, in *float64 }{{&m.ExpiresAt, &w.ExpiresIn}, {&m.AnswerBy, &w.AnswerWithin}, {&m.Due, &w.DueIn}, {&m.NotBefore, &w.NotBeforeIn}}
}

// justOver replaces a span of 0, because 0 means that the message has no such time.
const justOver = -1e-6

// alias returns an address without its host, such as birch for birch@devbox.
func alias(address string) string {
	name, _, _ := strings.Cut(address, "@")
	return name
}

func metaOf(m mail.Message, now time.Time) meta {
	at := mail.Seconds(now)
	w := meta{From: m.From, Session: m.FromSession, To: alias(m.To), ID: m.ID, Age: max(at-m.TS, 0), Kind: m.Kind, InReplyTo: m.InReplyTo, Tag: m.Tag,
		Deferrable: m.Deferrable, Ephemeral: m.Ephemeral, FromPerson: m.FromPerson, Held: m.Held != "", TellAfter: m.TellAfter, Hops: m.GuardHops, Chain: m.GuardChain}
	for _, t := range w.spans(&m) {
		if *t.at != 0 {
			if *t.in = *t.at - at; *t.in == 0 {
				*t.in = justOver
			}
		}
	}
	return w
}

// wire is a message in the form of a packet.
type wire struct {
	meta    []byte // JSON
	content string
	id      identity // as the receiver computes it
}

// wireOf converts a message. The outbox may have a message of another program that no mailbox can
// keep. For such a message, wireOf returns an empty message, which the receiver refuses.
func wireOf(m mail.Message, now time.Time) wire {
	w := metaOf(m, now)
	if data, err := json.Marshal(w); err == nil && len(data) <= maxMeta && m.Check() == nil {
		return wire{data, m.Content, w.identity()}
	}
	return wire{meta: []byte("{}")}
}

// size returns an upper bound of the message's size in a frame. The exact size varies, because the
// times change with each sending.
func (w wire) size() int { return len(w.meta) + len(w.content) + 64 }

// appendMessages writes the body of a frame: for each message the length of its meta, the meta in
// JSON, the length of its content, and the content. Lengths are uvarints.
func appendMessages(b []byte, msgs []mail.Message, now time.Time) []byte {
	for _, m := range msgs {
		w := wireOf(m, now)
		b = append(binary.AppendUvarint(b, uint64(len(w.meta))), w.meta...)
		b = append(binary.AppendUvarint(b, uint64(len(w.content))), w.content...)
	}
	return b
}

// incoming is one message of a frame. If the field why is not Stored, the message is refused, and
// only its identity counts.
type incoming struct {
	mail.Message
	why  Reason
	key  identity
	hash hash // the hash over all messages of the epoch, up to this one
	done bool // it is stored or refused
}

// parseMessages parses the body of a frame. An invalid frame is an error. A message that no mailbox
// could keep is marked as refused.
func parseMessages(body []byte, count int, peer string, now time.Time) ([]incoming, error) {
	msgs := make([]incoming, 0, min(count, maxCount))
	piece := func(limit int) ([]byte, bool) {
		n, size := binary.Uvarint(body)
		if size <= 0 || n > uint64(limit) || n > uint64(len(body)-size) {
			return nil, false
		}
		part := body[size : size+int(n)]
		body = body[size+int(n):]
		return part, true
	}
	for len(msgs) < count {
		var w meta
		data, ok := piece(maxMeta)
		if !ok || json.Unmarshal(data, &w) != nil {
			return nil, fmt.Errorf("%w: message %d of %d is damaged", errForeign, len(msgs)+1, count)
		}
		content, ok := piece(MaxPacket)
		if !ok {
			return nil, fmt.Errorf("%w: the content of message %d of %d is damaged", errForeign, len(msgs)+1, count)
		}
		msgs = append(msgs, w.message(string(content), peer, now))
	}
	if len(body) > 0 {
		return nil, fmt.Errorf("%w: data follows its last message", errForeign)
	}
	return msgs, nil
}

var (
	kinds = []string{"", "message", "question", "task", "review", "status", "ack", mail.KindSystem}
	tags  = []string{"", "fail", "blocking", "urgent"}
)

// message makes the message for a mailbox of this host, and refuses invalid values.
func (w meta) message(content, peer string, now time.Time) incoming {
	m := mail.Message{From: w.From + "@" + peer, To: w.To, Content: content, ID: w.ID, Kind: w.Kind, InReplyTo: w.InReplyTo, Tag: w.Tag,
		Deferrable: w.Deferrable, Ephemeral: w.Ephemeral, FromPerson: w.FromPerson, TellAfter: w.TellAfter, GuardHops: w.Hops, GuardChain: w.Chain,
		FromSession: mail.RemoteSession(peer, w.Session, w.From), TS: mail.Seconds(now.Add(-span(w.Age)))}
	if w.Held {
		m.Held = m.FromSession
	}
	in := incoming{Message: m, why: Stored, key: w.identity()}
	for _, t := range w.spans(&in.Message) {
		if *t.in != 0 {
			*t.at = mail.Seconds(now.Add(span(*t.in)))
		}
	}
	isNotice := w.From == mail.SystemAlias
	switch {
	case mail.CheckAlias(w.From) != nil || !isReceiver(w.To) || !mail.ValidName(w.ID) || !slices.Contains(kinds, w.Kind) || !slices.Contains(tags, w.Tag),
		isNotice != (w.Kind == mail.KindSystem), // only c2c itself writes notices
		w.Hops < 0 || w.Hops > 1<<20 || math.Abs(w.TellAfter) > longest.Seconds(),
		in.Message.Check() != nil:
		in.why = Invalid
	case in.Expired(mail.Seconds(now)):
		in.why = Expired
	}
	return in
}

// IsRoom reports whether a receiver is a room, such as #review, and returns its name.
func IsRoom(to string) (name string, ok bool) {
	name, ok = strings.CutPrefix(to, "#")
	return name, ok && mail.ValidRoom(name) && !strings.Contains(name, "@")
}

func isReceiver(to string) bool {
	_, ok := IsRoom(to)
	return ok || mail.CheckAlias(to) == nil
}

// span limits a time span that a peer has sent, so that the sum of a time and the span cannot
// overflow.
func span(seconds float64) time.Duration {
	limit := longest.Seconds()
	return time.Duration(min(max(seconds, -limit), limit) * float64(time.Second))
}

// identity is unique for each message of an outbox.
type identity struct {
	Session string `json:"session"`
	From    string `json:"from"`
	To      string `json:"to"`
	ID      string `json:"id"`
}

func (w meta) identity() identity { return identity{w.Session, w.From, w.To, w.ID} }

func identityOf(m mail.Message) identity { return identity{m.FromSession, m.From, alias(m.To), m.ID} }

// startOf returns the hash before the first message of an epoch.
func startOf(epoch uint64) hash {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(magic), epoch))
	return hash(sum[:16])
}

// next returns the hash after one more message, whose identity is id. The hash h covers the
// messages before it.
func (h hash) next(id identity) hash {
	b := h[:len(h):len(h)]
	for _, s := range []string{id.Session, id.From, id.To, id.ID} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	sum := sha256.Sum256(b)
	return hash(sum[:16])
}
