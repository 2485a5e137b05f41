package mail

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Origin is the field "outside" of a message. In a message from outside it says where the message
// comes from. In an answer to such a message it says to whom the answer goes. The sender chooses the
// words in an Origin, so two senders may use the same chat id.
type Origin struct {
	ChatID   string `json:"chat_id,omitempty"`
	Identity string `json:"identity,omitempty"` // the writer, if the sender is a bridge for several people
	Path     string `json:"path,omitempty"`     // the path of the HTTP request
	Method   string `json:"method,omitempty"`
}

// ExternalPrefix is the beginning of the session name of each sender outside, and of no other
// session name.
const ExternalPrefix = "external-"

// CheckSender returns an error if name cannot be the name of a sender outside. The name must be in
// lower case, because it is a part of file names, and some file systems ignore case.
func CheckSender(name string) error {
	const limit = 64 - len(ExternalPrefix)
	if err := CheckAlias(name); err != nil {
		return fmt.Errorf("name of a sender: %w", err)
	}
	switch {
	case name != strings.ToLower(name):
		return fmt.Errorf("name of a sender: %q: write it in small letters", name)
	case len(name) > limit:
		return fmt.Errorf("name of a sender: %q has %d characters, at most %d", name, len(name), limit)
	case strings.HasPrefix(name, ExternalPrefix):
		return fmt.Errorf("name of a sender: %q: leave %q out, c2c puts it before the name", name, ExternalPrefix)
	}
	return nil
}

const outsideField = "outside"

// SetOrigin puts o into the message, and replaces an earlier Origin.
func (m *Message) SetOrigin(o Origin) error {
	if err := o.check(); err != nil {
		return err
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	m.Extra = slices.DeleteFunc(slices.Clone(m.Extra), func(f Field) bool { return f.Name == outsideField })
	m.Extra = append(m.Extra, Field{outsideField, data})
	return nil
}

// Origin returns the Origin that SetOrigin has put into the message. The result ok is false if
// there is none, or if another program has put something else there.
func (m Message) Origin() (o Origin, ok bool) {
	i := slices.IndexFunc(m.Extra, func(f Field) bool { return f.Name == outsideField })
	if i < 0 || json.Unmarshal(m.Extra[i].Value, &o) != nil || o.check() != nil {
		return Origin{}, false
	}
	return o, true
}

// OriginAttributes returns, for a message from outside, the fields of Origin by which a reader
// distinguishes conversations: pairs of a name and a value. The values contain no character that
// could end a tag or an attribute.
func (m Message) OriginAttributes() (all [][2]string) {
	o, ok := m.Origin()
	if !ok || !m.External {
		return nil
	}
	for _, a := range [][2]string{{"chat_id", o.ChatID}, {"identity", o.Identity}, {"path", o.Path}, {"method", o.Method}} {
		if a[1] != "" {
			all = append(all, a)
		}
	}
	return all
}

// CheckWord returns an error if s cannot be a chat id, an identity or a path from outside. The
// argument kind says in the error what s is.
func CheckWord(kind, s string) error {
	const signs = "._:@+=/#~-"
	ok := len(s) <= maxName
	for _, c := range []byte(s) {
		ok = ok && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(signs, c) >= 0)
	}
	if !ok {
		return fmt.Errorf("%s %.140q may have at most %d characters of A-Z a-z 0-9 and %s", kind, s, maxName, signs)
	}
	return nil
}

func (o Origin) check() error {
	for _, w := range [][2]string{{"chat id", o.ChatID}, {"identity", o.Identity}, {"path", o.Path}, {"method", o.Method}} {
		if err := CheckWord(w[0], w[1]); err != nil {
			return err
		}
	}
	return nil
}
