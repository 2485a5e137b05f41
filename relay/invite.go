package relay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

const (
	invitationFile  = "invitations.json"
	invitationBytes = 20 // the length of an invitation's secret: 160 bits
	invitationTag   = "c2c-invitation:"
	answerTag       = "c2c-answer:"

	// MaxPasted is the greatest length of an invitation or an answer.
	MaxPasted = 16 << 10
	// InvitationTime is how long an invitation is valid.
	InvitationTime = time.Hour
)

// Invitation has the data of a text that the person at one host gives to the person at another
// host, over a channel that both trust. Any host that has the text can pair with the inviter. An
// invitation works once, within an hour.
type Invitation struct {
	Number  string  `json:"number"` // identifies the invitation among the inviter's invitations
	Secret  []byte  `json:"secret"`
	Expires float64 `json:"expires"` // by the inviter's clock; only the inviter checks it
	Name    string  `json:"name"`    // the inviter's own name
	Carrier string  `json:"carrier"`
	Address string  `json:"address,omitempty"` // the inviter's address, in the form of the carrier; see Host.Dest
	Key     Public  `json:"key"`
}

// InvitationAnswer is the invited host's answer. Its proof shows that the host has the secret.
type InvitationAnswer struct {
	Number string `json:"number"`
	Name   string `json:"name"` // the invited host's own name
	Key    Public `json:"key"`
	SSHKey string `json:"ssh_key,omitempty"` // the key with which the host connects, if the carrier is ssh
	Proof  []byte `json:"proof"`
}

// kept is an open invitation of this host.
type kept struct {
	Number   string   `json:"number"`
	Secret   []byte   `json:"secret"`
	Expires  float64  `json:"expires"`
	As       string   `json:"as,omitempty"` // the name for the invited host; "": the name in its answer
	Carrier  string   `json:"carrier"`
	Projects []string `json:"projects,omitempty"`
	Aliases  []string `json:"aliases,omitempty"`

	Unattended bool `json:"unattended,omitempty"` // no person needs to confirm the answer
}

// Invite makes an invitation and writes it to disk. The argument name is the name of this host, and
// address is its address. The host that answers gets the name, carrier and rights of h. If h has no
// name, that host gets the name in its answer. If unattended, the proof in the answer is enough to
// pair, without a person.
func (l *HostList) Invite(ctx context.Context, key *Key, name, address string, h Host, unattended bool) (Invitation, error) {
	i := Invitation{Number: strings.ToLower(rand.Text()[:16]), Secret: make([]byte, invitationBytes), Name: name, Carrier: h.Carrier,
		Address: address, Expires: mail.Seconds(l.now().Add(InvitationTime)), Key: key.Public()}
	rand.Read(i.Secret) // never fails
	if err := i.check(); err != nil {
		return Invitation{}, err
	}
	trial := h // the answer will bring the key, and perhaps the name
	trial.Key, trial.Name = key.Public(), cmp.Or(h.Name, name)
	if err := trial.check(); err != nil {
		return Invitation{}, err
	}
	err := withLock(ctx, l.dir, func() error {
		all, err := l.readInvitations()
		if err != nil {
			return err
		}
		return l.writeInvitations(append(all, kept{i.Number, i.Secret, i.Expires, h.Name, h.Carrier, h.Projects, h.Aliases, unattended}))
	})
	return i, err
}

func (i Invitation) check() error {
	switch {
	case mail.CheckHost(i.Name) != nil:
		return mail.CheckHost(i.Name)
	case len(i.Secret) != invitationBytes || CheckProjectName(i.Number) != nil || i.Key.id == "":
		return errors.New("the invitation is incomplete: copy all of it")
	case i.Carrier == SSH && i.Address != "":
		return CheckDest(i.Address)
	case !slices.Contains(Kinds(), i.Carrier), len(i.Address) > 255, strings.ContainsFunc(i.Address, func(c rune) bool { return c <= ' ' || c > '~' }):
		return fmt.Errorf("the invitation has the carrier %.20q and the address %.80q, which this version of c2c does not support", i.Carrier, i.Address)
	}
	return nil
}

// String returns the text of an invitation, for pasting.
func (i Invitation) String() string { return pasted(invitationTag, i) }

// ParseInvitation parses a pasted text. It ignores blanks and line ends, because terminals and mail
// programs add some.
func ParseInvitation(text string) (i Invitation, err error) {
	if err := parsePasted(invitationTag, text, &i); err != nil {
		return Invitation{}, err
	}
	return i, i.check()
}

// IsAnswer reports whether a pasted text is the answer to an invitation.
func IsAnswer(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), answerTag) }

// Answer answers an invitation. If the carrier is ssh, sshKey is this host's public ssh key. The
// caller must also add the inviter to the list.
func (i Invitation) Answer(key *Key, name, sshKey string) (InvitationAnswer, error) {
	a := InvitationAnswer{Number: i.Number, Name: name, Key: key.Public(), SSHKey: sshKey}
	a.Proof = a.prove(i.Secret, i.Key)
	return a, a.check()
}

// prove computes the proof of an answer from the invitation's secret and the inviter's key.
func (a InvitationAnswer) prove(secret []byte, inviter Public) []byte {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "c2c answer\x00%s\x00%s\x00%s\x00%s\x00%s", inviter.id, a.Number, a.Name, a.Key.id, a.SSHKey)
	return mac.Sum(nil)
}

func (a InvitationAnswer) check() error {
	if err := mail.CheckHost(a.Name); err != nil {
		return err
	}
	if len(a.Proof) != sha256.Size || CheckProjectName(a.Number) != nil || a.Key.id == "" {
		return errors.New("the answer is incomplete: copy all of it")
	}
	return nil
}

// String returns the text of an answer, for pasting.
func (a InvitationAnswer) String() string { return pasted(answerTag, a) }

// ParseInvitationAnswer parses a pasted text.
func ParseInvitationAnswer(text string) (a InvitationAnswer, err error) {
	if err := parsePasted(answerTag, text, &a); err != nil {
		return InvitationAnswer{}, err
	}
	return a, a.check()
}

// Unattended reports whether the invitation that is answered needs no person here.
func (l *HostList) Unattended(a InvitationAnswer) bool {
	all, err := l.readInvitations()
	return err == nil && slices.ContainsFunc(all, func(k kept) bool { return k.Number == a.Number && k.Unattended })
}

// Redeem adds the host that has answered an invitation of this host. It removes the invitation,
// even if the answer is wrong. Errors: ErrInvitation, and the errors of Add.
func (l *HostList) Redeem(ctx context.Context, key *Key, a InvitationAnswer) (h Host, err error) {
	if err := a.check(); err != nil {
		return Host{}, err
	}
	var k kept
	err = withLock(ctx, l.dir, func() error {
		all, err := l.readInvitations()
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(k kept) bool { return k.Number == a.Number })
		if at < 0 {
			return fmt.Errorf("pair with %q: %w", a.Name, ErrInvitation)
		}
		k = all[at]
		// Remove the invitation before adding the host. Then a kill in between only costs the
		// invitation. With the other order, the invitation could be used twice.
		if err := l.writeInvitations(slices.Delete(all, at, at+1)); err != nil {
			return err
		}
		if !hmac.Equal(a.Proof, a.prove(k.Secret, key.Public())) {
			return fmt.Errorf("pair with %q: its answer is wrong, so the invitation is no longer valid; make a new one: %w", a.Name, ErrInvitation)
		}
		return nil
	})
	if err != nil {
		return Host{}, err
	}
	h = Host{Name: cmp.Or(k.As, a.Name), Carrier: k.Carrier, Projects: k.Projects, Aliases: k.Aliases, Key: a.Key}
	return h, l.Add(ctx, h)
}

// readInvitations returns the open invitations. If the file is damaged, it returns none: people can
// make new invitations.
func (l *HostList) readInvitations() (all []kept, err error) {
	data, err := atomicfile.ReadPrivate(l.dir, invitationFile, maxList)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*atomicfile.DamagedError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &all) != nil {
		return nil, nil
	}
	now := l.now()
	return slices.DeleteFunc(all, func(k kept) bool {
		return k.Expires <= mail.Seconds(now) || k.Expires > mail.Seconds(now.Add(InvitationTime)) || len(k.Secret) != invitationBytes
	}), nil
}

func (l *HostList) writeInvitations(all []kept) error {
	data, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return l.dir.Replace(invitationFile, append(data, '\n'))
}

// pasted encodes a value as one word that chats and mail programs leave intact.
func pasted(tag string, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible: only a value without a key cannot be encoded, and check requires a key
	}
	return tag + base64.RawURLEncoding.EncodeToString(data)
}

func parsePasted(tag, text string, v any) error {
	what := strings.TrimSuffix(strings.TrimPrefix(tag, "c2c-"), ":")
	if len(text) > MaxPasted {
		return fmt.Errorf("the %s has %d characters, at most %d", what, len(text), MaxPasted)
	}
	coded, ok := strings.CutPrefix(strings.Join(strings.Fields(text), ""), tag)
	if !ok {
		return fmt.Errorf("the %s does not begin with %s", what, tag)
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(coded)
	if err != nil {
		return fmt.Errorf("the %s is incomplete: copy all of it", what)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(v); err != nil || d.More() {
		return fmt.Errorf("the %s is incomplete: copy all of it", what)
	}
	return nil
}
