package mail

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Origin is what a message from outside says of where it comes from, and what an answer to one says of what it is to do
// there. It is the field "outside" of a message. Its words are the sender's own: two senders may use one chat id.
type Origin struct {
	ChatID   string `json:"chat_id,omitempty"`
	Identity string `json:"identity,omitempty"` // who of those behind a bridge has written
	Path     string `json:"path,omitempty"`     // of the request
	Method   string `json:"method,omitempty"`
	Edits    string `json:"edits,omitempty"` // the id of an earlier message in whose place this one stands
	Files    []File `json:"files,omitempty"` // which are never read into a mailbox
}

// File is a file of this machine that a message points at.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}

// ExternalPrefix stands before the name of a sender outside: so its session is called, and no other one.
const ExternalPrefix = "external-"

// CheckSender says why name cannot be the name of a sender outside. It stands in the names of files, and some file systems
// know no case: so it has none.
func CheckSender(name string) error {
	const most = 64 - len(ExternalPrefix)
	if err := CheckAlias(name); err != nil {
		return fmt.Errorf("name of a sender: %w", err)
	}
	switch {
	case name != strings.ToLower(name):
		return fmt.Errorf("name of a sender: %q: write it in small letters", name)
	case len(name) > most:
		return fmt.Errorf("name of a sender: %q has %d characters, at most %d", name, len(name), most)
	case strings.HasPrefix(name, ExternalPrefix):
		return fmt.Errorf("name of a sender: %q: leave %q out, c2c puts it before the name", name, ExternalPrefix)
	}
	return nil
}

const (
	outsideField = "outside"
	maxFiles     = 10
	maxFilePath  = 4096
)

// SetOrigin puts o into the message, in the place of what was there.
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

// Origin is what SetOrigin has put there. ok is false when it is not there, or when another program has put something
// else there.
func (m Message) Origin() (o Origin, ok bool) {
	i := slices.IndexFunc(m.Extra, func(f Field) bool { return f.Name == outsideField })
	if i < 0 || json.Unmarshal(m.Extra[i].Value, &o) != nil || o.check() != nil {
		return Origin{}, false
	}
	return o, true
}

// OriginAttributes are the words of Origin by which a reader of a message tells one conversation from another, each with
// its name. They hold no character that could end a tag or an attribute.
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

// CheckWord refuses what cannot be a chat id, an identity or a path of a message from outside. what says which it is.
func CheckWord(what, s string) error {
	const signs = "._:@+=/#~-"
	ok := len(s) <= maxName
	for _, c := range []byte(s) {
		ok = ok && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(signs, c) >= 0)
	}
	if !ok {
		return fmt.Errorf("%s %.140q: at most %d of A-Z a-z 0-9 and %s", what, s, maxName, signs)
	}
	return nil
}

func (o Origin) check() error {
	for _, w := range [][2]string{{"chat id", o.ChatID}, {"identity", o.Identity}, {"path", o.Path}, {"method", o.Method}} {
		if err := CheckWord(w[0], w[1]); err != nil {
			return err
		}
	}
	if o.Edits != "" && !ValidName(o.Edits) {
		return CheckName("message id", o.Edits)
	}
	if len(o.Files) > maxFiles {
		return fmt.Errorf("%d files, at most %d", len(o.Files), maxFiles)
	}
	for _, f := range o.Files {
		switch {
		case f.Path == "" || len(f.Path) > maxFilePath || !utf8.ValidString(f.Path) || strings.ContainsRune(f.Path, 0):
			return fmt.Errorf("path %.140q of a file: at most %d bytes of text", f.Path, maxFilePath)
		case f.Size < 0:
			return fmt.Errorf("file %q cannot have %d bytes", f.Path, f.Size)
		case len(f.SHA256) != 64 || strings.Trim(f.SHA256, "0123456789abcdef") != "":
			return fmt.Errorf("file %q: %.80q is no SHA-256 in hex", f.Path, f.SHA256)
		}
	}
	return nil
}
