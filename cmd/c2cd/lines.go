// This part prints what happens in a root, for programs to read: one line for each event, in the
// form of the OCaml c2c's monitor.

package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/fields"
	"c2c/serve/live"
	"c2c/wake"
)

// monitorLines prints events. Its fields are the options of c2c monitor.
type monitorLines struct {
	Out  io.Writer
	JSON bool

	Alias string // print only the mail of this session; "": print all mail

	id string // the session of Alias, if it has one
}

// Find finds the session of Alias; Alias may also be the id of a session. If Alias is set and no
// session has it, Find returns false.
func (m *monitorLines) Find(sessions []live.Session) bool {
	for _, s := range sessions {
		if m.Alias != "" && (s.ID == m.Alias || s.ID == m.id || strings.EqualFold(s.Alias, m.Alias)) {
			m.Alias, m.id = s.Alias, s.ID
			return true
		}
	}
	return m.Alias == ""
}

// Ready prints an event which says that all events are printed from now on.
func (m *monitorLines) Ready() error { return m.event("monitor.ready", "") }

// isMine reports whether a message is for the session of Alias, and not from it. Without an Alias,
// it is true for each message. It also compares names, because the mailbox may belong to no session
// in the list.
func (m *monitorLines) isMine(e live.Event) bool {
	return m.Alias == "" || !strings.EqualFold(e.Message.From, m.Alias) &&
		(e.SessionID == cmp.Or(m.id, m.Alias) || strings.EqualFold(e.Message.To, m.Alias))
}

// Tell prints an event, if the options ask for it.
func (m *monitorLines) Tell(e live.Event) error {
	switch e.What {
	case live.Stored, live.Archived, live.Leased, live.Back, live.Dead:
		return m.mail(e)
	case live.Posted:
		if m.Alias == "" {
			return m.message(e)
		}
	case live.Came:
		return m.session("peer.alive", "🟢  PEER   "+m.name(e)+" ("+e.Why+")", e)
	case live.Went:
		return m.session("peer.dead", "🔴  PEER   "+m.name(e)+" ("+cmp.Or(e.Why, "not registered any more")+")", e)
	case live.Damaged:
		if m.name(e) == "" {
			return m.event("room.damaged", e.Why, "reason", e.Why)
		}
		return m.session("mailbox.damaged", "mailbox of "+m.name(e)+" is damaged: "+e.Why, e)
	case live.Changed:
		if m.Alias == "" {
			return m.session("peer.changed", m.name(e)+" is "+e.Why, e)
		}
	case live.Rung, live.NotRung:
		if m.Alias == "" {
			return m.session("peer."+e.What, m.name(e)+": "+ringWords(e.Ring), e)
		}
	}
	return nil
}

// mail prints an event of a message. If it follows the mail of one session, it prints only new
// messages: the reader does not need to know what the session does with them.
func (m *monitorLines) mail(e live.Event) error {
	switch {
	case !m.isMine(e):
		return nil
	case e.What == live.Stored:
		return m.message(e)
	case m.Alias != "":
		return nil
	}
	text := fmt.Sprintf("%s→%s  %s %s", e.Message.From, e.Message.To, mail.ShortID(e.Message.ID), words[e.What])
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return m.event("message."+e.What, text, "from_alias", e.Message.From, "to_alias", e.Message.To, "message_id", e.Message.ID,
		"session_id", e.SessionID, "by", e.By, "reason", e.Why)
}

// words has, for each kind of event, the text for a person.
var words = map[string]string{live.Leased: "handed", live.Back: "waits again", live.Archived: "read", live.Dead: "dead letter"}

func (m *monitorLines) name(e live.Event) string { return cmp.Or(e.Alias, e.SessionID) }

func (m *monitorLines) session(kind, text string, e live.Event) error {
	return m.event(kind, text, "alias", m.name(e), "session_id", e.SessionID, "reason", cmp.Or(e.Why, e.Ring.Cause), "by", e.Ring.Method)
}

// snippet is how many bytes of a body a line shows.
const snippet = 80

// message prints a message, or a post. The plugin of the OCaml c2c searches the lines for the signs
// 💬 and 📬.
func (m *monitorLines) message(e live.Event) error {
	kind := "message"
	if e.What == live.Posted {
		kind = "room.post"
	}
	if m.JSON {
		line, err := e.Message.MarshalJSON()
		if err != nil {
			return err
		}
		return m.write(append(append(m.head(kind), ','), line[1:]...))
	}
	sign, to := "💬", e.Message.To
	if e.What != live.Posted && m.isMine(e) {
		sign = "📬"
		if m.Alias != "" {
			to = "you"
		}
	}
	text := strings.Join(strings.Fields(e.Message.Content), " ")
	if len(text) > snippet {
		text = strings.ToValidUTF8(text[:snippet], "") + "…" // the cut may be inside a character
	}
	from := e.Message.From
	if by := mail.By(e.Message); by == mail.ByOutside || by == mail.ByClaim {
		from += " (" + by + ")"
	}
	return m.event("", fmt.Sprintf("%s  %s→%s  \"%s\"", sign, from, to, text))
}

// head returns the beginning of an event in JSON: its kind, and the time of printing.
func (m *monitorLines) head(kind string) []byte {
	now := time.Now()
	return fmt.Appendf(nil, `{"event_type":%q,"monitor_ts":"%d.%03d"`, kind, now.Unix(), now.Nanosecond()/1e6)
}

// event prints one line: the text, or with JSON the pairs of names and values. It leaves out empty
// values.
func (m *monitorLines) event(kind, text string, pairs ...string) error {
	if !m.JSON {
		// One event is one line, even if the body has several lines.
		text = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\r", `\n`).Replace(text)
		return m.write([]byte(time.Now().Format("[15:04:05] ") + mail.Visible(text, "\t")))
	}
	line := m.head(kind)
	for ; len(pairs) > 1; pairs = pairs[2:] {
		if pairs[1] != "" {
			line = fields.AppendText(append(fields.AppendText(append(line, ','), pairs[0]), ':'), pairs[1])
		}
	}
	return m.write(append(line, '}'))
}

func (m *monitorLines) write(line []byte) error {
	_, err := m.Out.Write(append(line, '\n'))
	return err
}

func ringWords(r wake.Ring) string {
	if r.Outcome == wake.Rang {
		return "was rung by " + r.Method
	}
	return strings.TrimSuffix("was not rung: "+r.Outcome+", "+r.Cause, ", ")
}
