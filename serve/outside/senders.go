// Package outside keeps the list of programs and services outside c2c that may write to sessions
// over HTTP, with the key of each.
//
// A sender shows a token, or signs its requests. A bridge is a sender that passes on the messages
// of many people, for example from a chat. Its token proves only the bridge; a list of identities
// says which people behind it may write. A person of this machine puts them on that list (Admit).
//
// The package keeps all its data in files of the directory http in the state directory. Any number
// of processes may use them at once; the daemon sees a change at the next request.
//
//	senders.json       the list, at most 64 KiB; it has only the hash of a token, but the whole
//	                   secret of a signature
//	senders.json.lock  held while a process changes the list; its holder takes no other lock
package outside

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"c2c/inbox/mail"
)

// The forms of a signature, for senders that show no token.
const (
	GitHub   = "github"   // X-Hub-Signature-256
	Standard = "standard" // Standard Webhooks
)

// Sender is a program, a service or a bridge that may write from outside.
type Sender struct {
	Name       string   `json:"name"`
	Root       string   `json:"root"` // absolute
	To         []string `json:"to"`   // aliases to which the sender may write; a request that names no alias goes to the first
	TokenSum   string   `json:"token_sha256,omitempty"`
	Secret     string   `json:"secret,omitempty"` // the secret of the signature, as configured at the service
	Scheme     string   `json:"scheme,omitempty"` // GitHub or Standard; "": the sender shows a token
	Bridge     bool     `json:"bridge,omitempty"`
	Identities []string `json:"identities,omitempty"` // people who may write through the bridge
	Verdicts   bool     `json:"verdicts,omitempty"`   // the sender may answer permission requests
	Created    float64  `json:"created"`
	LastUsed   string   `json:"last_used_day,omitempty"` // in the form 2006-01-02, UTC
}

// The errors of a List. The doc of each method names the errors that it may return.
var (
	ErrUnknown = errors.New("no such sender")
	ErrExists  = errors.New("there is a sender with this name")
	ErrFull    = errors.New("the list of senders is full")
)

// MayWrite reports whether the sender may write to an alias, ignoring case, and returns the alias
// in the list's spelling.
func (s Sender) MayWrite(alias string) (to string, ok bool) {
	if mail.CheckAlias(alias) != nil {
		return "", false // EqualFold would take some characters that are not ASCII for an ASCII letter
	}
	i := slices.IndexFunc(s.To, func(to string) bool { return strings.EqualFold(to, alias) })
	if i < 0 {
		return "", false
	}
	return s.To[i], true
}

// Knows reports whether an identity may write through the bridge.
func (s Sender) Knows(identity string) bool {
	return s.Bridge && slices.Contains(s.Identities, identity)
}

// standardPrefix is the prefix of secrets of Standard Webhooks.
const standardPrefix = "whsec_"

// Key returns the key of the sender's signature, nil if the sender does not sign.
func (s Sender) Key() []byte {
	switch s.Scheme {
	case GitHub:
		return []byte(s.Secret)
	case Standard:
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Secret, standardPrefix))
		if err == nil {
			return key
		}
	}
	return nil
}

// minKey is the smallest allowed size of a signature's key, in bytes.
const minKey = 24

// maxTo bounds the number of a sender's aliases.
const maxTo = 32

// check returns an error if the list cannot hold the sender.
func (s Sender) check() error {
	if err := mail.CheckSender(s.Name); err != nil {
		return err
	}
	if !filepath.IsAbs(s.Root) || len(s.Root) > 4096 {
		return fmt.Errorf("sender %q: root %.100q is not an absolute path", s.Name, s.Root)
	}
	if len(s.To) == 0 || len(s.To) > maxTo {
		return fmt.Errorf("sender %q: it may write to 1 to %d aliases", s.Name, maxTo)
	}
	for _, to := range s.To {
		if err := mail.CheckAlias(to); err != nil {
			return err
		}
		if strings.HasPrefix(strings.ToLower(to), mail.ExternalPrefix) {
			return fmt.Errorf("alias %q belongs to another sender outside, which cannot read mail from a sender", to)
		}
	}
	switch s.Scheme {
	case "", GitHub, Standard:
	default:
		return fmt.Errorf("sender %q: scheme %q is none of %q", s.Name, s.Scheme, []string{GitHub, Standard})
	}
	if s.Scheme != "" && s.Bridge {
		return fmt.Errorf("sender %q: a signature does not cover X-Sender, so a bridge must show a token", s.Name)
	}
	if s.Scheme != "" && len(s.To) > 1 {
		return fmt.Errorf("sender %q: a signature does not cover the path, so a sender that signs may write to only one alias", s.Name)
	}
	if s.Verdicts && s.Scheme != "" {
		return fmt.Errorf("sender %q: only a sender with a token can read permission requests, so only such a sender can decide them", s.Name)
	}
	for _, id := range s.Identities {
		if err := CheckIdentity(id); err != nil {
			return err
		}
	}
	return nil
}

// CheckIdentity returns an error if a name cannot be an identity of a bridge.
func CheckIdentity(id string) error {
	if id == "" {
		return errors.New("an identity cannot be empty")
	}
	return mail.CheckWord("identity", id)
}

// complete returns an error if the sender lacks the key that its scheme needs.
func (s Sender) complete() error {
	switch sum, err := hex.DecodeString(s.TokenSum); {
	case s.Scheme == "" && (err != nil || len(sum) != sha256.Size || s.Secret != ""):
		return fmt.Errorf("sender %q: its token_sha256 is not a SHA-256 in hex", s.Name)
	case s.Scheme != "" && (s.TokenSum != "" || len(s.Key()) < minKey):
		return fmt.Errorf("sender %q: its secret is too short, or is not a secret for %s", s.Name, s.Scheme)
	}
	return nil
}

// makeKey gives the sender a new key, and returns its token or its secret.
func (s *Sender) makeKey() (shown string) {
	var key [32]byte
	rand.Read(key[:]) // never fails
	s.TokenSum, s.Secret = "", ""
	switch s.Scheme {
	case Standard:
		s.Secret = standardPrefix + base64.StdEncoding.EncodeToString(key[:])
		return s.Secret
	case GitHub:
		s.Secret = base64.RawURLEncoding.EncodeToString(key[:])
		return s.Secret
	}
	token := base64.RawURLEncoding.EncodeToString(key[:])
	s.TokenSum = sumOf(token)
	return token
}

func sumOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
