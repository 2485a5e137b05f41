package rooms

import (
	"fmt"
	"strings"
	"unicode"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// maxUnknown bounds Receipt.Unknown: a text may be full of names.
const maxUnknown = 10

// Receipt confirms that a post is stored.
type Receipt struct {
	DeliveredTo []string `json:"delivered_to"` // the aliases of the other members
	Skipped     []string `json:"skipped"`      // members that should have got the post as a message, but did not
	TS          float64  `json:"ts"`
	Room        string   `json:"room_id"`
	From        string   `json:"from_alias"`
	ID          string   `json:"message_id,omitempty"`
	StoredFor   int      `json:"stored_for"`            // the number of other members
	Wakes       []string `json:"wakes"`                 // the agents that the post wakes
	Waits       []string `json:"waits,omitempty"`       // named agents that c2c cannot or must not wake now: the post waits for their next turn
	Tells       []string `json:"tells,omitempty"`       // persons that the post names
	Sends       []string `json:"sends,omitempty"`       // named members on other machines: the post is on its way to them
	Muted       []string `json:"muted,omitempty"`       // named members that have muted the room
	Strangers   []string `json:"not_members,omitempty"` // named sessions that are not in the room, so they do not get the post
	Unknown     []string `json:"unknown,omitempty"`     // names after @ that no session here has, maxUnknown at most
	InReplyTo   string   `json:"in_reply_to,omitempty"`
	Duplicate   bool     `json:"duplicate,omitempty"`
	Passed      bool     `json:"passed,omitempty"` // the text was "pass", so nothing was stored
	Host        string   `json:"host,omitempty"`   // if the room is on another machine: that machine; the post is on its way there
	Note        string   `json:"note,omitempty"`
	Why         []error  `json:"-"` // the error for each member in Skipped
}

// String says which members the post wakes, and which others it reaches.
func (r Receipt) String() string {
	if r.Passed {
		return "passed: nothing was posted, and nobody is woken"
	}
	text := fmt.Sprintf("stored for %d, wakes %s", r.StoredFor, counted(r.Wakes))
	if r.Host != "" {
		text = "on its way to " + r.Host + ", not in the room yet"
	}
	if len(r.Waits) > 0 {
		text += ", waits for the next turn of " + counted(r.Waits)
	}
	if len(r.Tells) > 0 {
		text += ", tells " + counted(r.Tells)
	}
	if len(r.Sends) > 0 {
		text += ", goes to " + counted(r.Sends)
	}
	if r.ID != "" {
		text += "; " + mail.ShortID(r.ID)
	}
	if r.Duplicate {
		text += "; it had been posted before"
	}
	if len(r.Muted) > 0 {
		text += "; muted by " + strings.Join(r.Muted, ", ")
	}
	if left := r.Strangers; len(left) > 0 {
		text += fmt.Sprintf("; not in the room: %s (c2c rooms invite %s %s)", strings.Join(left[:min(len(left), 10)], ", "), r.Room, left[0])
	}
	if len(r.Unknown) > 0 {
		names := strings.Join(r.Unknown, ", ")
		text += "; no session here is called " + names
		if strings.ContainsFunc(names, func(c rune) bool { return c > unicode.MaxASCII }) {
			text += " (a name has only the letters A to Z)"
		}
	}
	if len(r.Skipped) > 0 {
		text += "; not told: " + strings.Join(r.Skipped, ", ")
	}
	if r.Note != "" {
		text += "; " + r.Note
	}
	return text
}

func counted(names []string) string {
	const limit = 10
	if len(names) == 0 {
		return "0"
	}
	said := strings.Join(names[:min(len(names), limit)], ", ")
	if more := len(names) - limit; more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d (%s)", len(names), said)
}

// StoreOf returns the rooms of an open root.
func StoreOf(reg *sessions.Registry) Store {
	return Store{Root: reg.Dir(), Now: reg.Now, Log: reg.Log}
}

// AliasOf returns the present alias of a member.
func AliasOf(rows []sessions.Row, m *Member) string {
	if i := sessions.FindSID(rows, m.SID); i >= 0 {
		return rows[i].Alias()
	}
	return mail.SafeAlias(m.Alias)
}

// Passes reports whether an agent says only "pass": it has nothing to say.
func Passes(from sessions.Session, text string) bool {
	return from.State != sessions.Person && strings.EqualFold(strings.Trim(text, " \t\r\n.!*_`[]()\"'"), "pass")
}
