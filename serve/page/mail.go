package page

import (
	"encoding/hex"
	"strings"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/serve/live"
)

// mailView is a message as the page shows it. Its text contains no control characters, and no
// characters that reverse the order of a line.
type mailView struct {
	Key     string  `json:"key"` // stays the same when the message moves
	ID      string  `json:"id"`
	Short   string  `json:"short"`
	From    string  `json:"from"`
	To      string  `json:"to"`
	Session string  `json:"session,omitempty"` // the session in whose mailbox the message is
	Text    string  `json:"text"`
	Cut     int     `json:"cut,omitempty"` // size of the whole text in bytes, if Text is only its beginning
	TS      float64 `json:"ts"`            // when the message was sent, in seconds; 0: not known
	Kind    string  `json:"kind,omitempty"`
	Tag     string  `json:"tag,omitempty"`
	Answers string  `json:"answers,omitempty"` // the id of the answered message
	Person  bool    `json:"person,omitempty"`
	Outside bool    `json:"outside,omitempty"` // from outside of c2c
	Known   string  `json:"known_by,omitempty"`
	Starter string  `json:"started_by,omitempty"`
	Held    bool    `json:"held,omitempty"` // the message waits until a person lets the conversation go on

	Room   string `json:"room,omitempty"` // the message is a post in this room, and in no mailbox
	State  string `json:"state"`
	Since  int64  `json:"since,omitempty"`  // when the message came into that state
	After  int64  `json:"after,omitempty"`  // if set, the message was read between After and Since; see broker.MessageStatus
	Leased int64  `json:"leased,omitempty"` // if set, the message was handed over then, and read at Since
	By     string `json:"by,omitempty"`
	Why    string `json:"why,omitempty"`
}

// maxText is how many bytes of a message's text a list contains. The page requests the whole text
// separately.
const maxText = 4 << 10

func visible(text string) string { return mail.Visible(text, "") }

// body makes control characters of a text visible, and keeps its lines.
func body(text string) string {
	return mail.Visible(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t")
}

// mailOf returns a view of a message with at most limit bytes of its text; a negative limit means
// all.
func mailOf(m mail.Message, limit int) mailView {
	one := mailView{ID: m.ID, Short: visible(mail.ShortID(m.ID)), From: visible(m.From), To: visible(m.To), Kind: visible(m.Kind), Tag: visible(m.Tag),
		Answers: m.InReplyTo, Person: m.FromPerson, Outside: m.External, Known: mail.By(m), Starter: mail.Starter(m), Held: m.Held != "" && m.KeptBack(mail.Seconds(time.Now())), TS: m.TS}
	text := m.Content
	if limit >= 0 && len(text) > limit {
		text, one.Cut = strings.ToValidUTF8(text[:limit], ""), len(text)
	}
	one.Text = body(text)
	return one
}

func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func keyOf(t mail.Fingerprint) string { return hex.EncodeToString(t[:]) }

// liveMail returns a view of a message from the root's hub (live.Hub). The hub may have shortened
// the text already.
func liveMail(m live.Mail) mailView {
	one := mailOf(m.Message, maxText)
	one.Cut = max(one.Cut, m.Cut)
	one.Key, one.Session = keyOf(m.Key), m.SessionID
	one.State, one.Since, one.After, one.Leased, one.By, one.Why = m.State, milli(m.At), milli(m.HandedAt), milli(m.Leased), visible(m.By), visible(m.Why)
	return one
}

// foundMail returns a view of a message from a search or from the history.
func foundMail(m broker.Mail, limit int) mailView {
	if m.Status.State == rooms.Posted {
		return postOf(m.Message)
	}
	one := mailOf(m.Message, limit)
	one.Key, one.Session = keyOf(m.Fingerprint()), m.Status.SessionID
	one.State, one.Since, one.After, one.By = m.Status.State, milli(m.Status.At), milli(m.Status.HandedAt), visible(m.Status.By)
	one.Why = visible(m.Status.Reason)
	return one
}

func foundMails(all []broker.Mail) []mailView {
	list := make([]mailView, 0, len(all))
	for _, m := range all {
		list = append(list, foundMail(m, maxText))
	}
	return list
}

// session is a session as the page shows it.
type session struct {
	ID       string `json:"id"`
	Alias    string `json:"alias"`
	Client   string `json:"client,omitempty"`
	Role     string `json:"role,omitempty"`
	State    string `json:"state"`
	Does     string `json:"does"`
	Since    int64  `json:"since,omitempty"`
	Needs    bool   `json:"needs_person,omitempty"`
	Waiting  int    `json:"waiting,omitempty"` // number of messages
	Handed   int    `json:"handed,omitempty"`  // number of messages that a reader has leased
	Oldest   int64  `json:"oldest,omitempty"`
	LastRead int64  `json:"last_read,omitempty"`
	Quiet    bool   `json:"quiet,omitempty"`
	Ring     string `json:"ring,omitempty"` // the outcome of the last ring, in words
	RingAt   int64  `json:"ring_at,omitempty"`
	Surface  string `json:"surface,omitempty"` // full: mail rings the session; degraded: mail waits until the session does something
	Error    string `json:"error,omitempty"`
}

func sessionOf(s live.Session) session {
	one := session{ID: s.ID, Alias: visible(s.Alias), Client: visible(s.Client), Role: visible(s.Role), State: string(s.State), Does: string(s.Now.Does),
		Since: milli(s.Now.Since), Needs: s.AtDialog(), Waiting: s.Count, Handed: s.Handed, LastRead: milli(s.LastRead), Quiet: s.Quiet, Surface: visible(s.Surface), Error: visible(s.Error)}
	if s.Count > 0 {
		one.Oldest = milli(s.Oldest)
	}
	if s.LastRing.Outcome != "" {
		one.Ring, one.RingAt = visible(s.LastRing.String()), milli(s.LastRing.At)
	}
	return one
}

func sessionsOf(all []live.Session) []session {
	list := make([]session, 0, len(all))
	for _, s := range all {
		list = append(list, sessionOf(s))
	}
	return list
}
