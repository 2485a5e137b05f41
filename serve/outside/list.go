package outside

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/fields"
)

const (
	listFile = "senders.json"
	lockFile = listFile + ".lock"
	maxList  = 64 << 10
)

// SenderList holds the senders of a user. Any goroutine may use it.
type SenderList struct {
	dir  *atomicfile.Dir
	now  func() time.Time
	file *atomicfile.PrivateFile[[]Sender]
}

// OpenSenders returns the list in a directory. The caller closes dir. The function now is the
// clock.
func OpenSenders(dir *atomicfile.Dir, now func() time.Time) *SenderList {
	return &SenderList{dir, now, &atomicfile.PrivateFile[[]Sender]{Dir: dir, Name: listFile, Lock: lockFile, Most: maxList, Parse: parse, Format: format, Full: ErrFull}}
}

// All returns the senders in the order of their Allow calls. If the file cannot be read, no sender
// may write.
func (l *SenderList) All() ([]Sender, error) {
	all, err := l.file.Look()
	return slices.Clone(all), err
}

func parse(data []byte) ([]Sender, error) {
	var all []Sender
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, s := range all {
		if err := errors.Join(s.check(), s.complete()); err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, fmt.Errorf("sender %q is there twice", s.Name)
		}
		names[s.Name] = true
	}
	return all, nil
}

// ByToken returns the sender with this token. The duration of the call reveals nothing about any
// token.
func (l *SenderList) ByToken(token string) (found Sender, ok bool) {
	sum := []byte(sumOf(token))
	all, err := l.All()
	if err != nil {
		return Sender{}, false
	}
	for _, s := range all {
		if s.Scheme == "" && subtle.ConstantTimeCompare(sum, []byte(s.TokenSum)) == 1 {
			found, ok = s, true
		}
	}
	return found, ok
}

// ByName returns the sender with this name.
func (l *SenderList) ByName(name string) (Sender, bool) {
	all, err := l.All()
	if i := indexOf(all, name); err == nil && i >= 0 {
		return all[i], true
	}
	return Sender{}, false
}

func indexOf(all []Sender, name string) int {
	return slices.IndexFunc(all, func(s Sender) bool { return s.Name == name })
}

// Allow adds a sender, writes the list, and returns the sender's token, or the secret of its
// signature. c2c shows the token or the secret only this once. Errors: ErrExists, ErrFull.
func (l *SenderList) Allow(ctx context.Context, s Sender) (token string, err error) {
	if err := s.check(); err != nil {
		return "", err
	}
	token = s.makeKey()
	s.Created, s.LastUsed = mail.Seconds(l.now()), ""
	err = l.change(ctx, func(all []Sender) ([]Sender, error) {
		if indexOf(all, s.Name) >= 0 {
			return nil, fmt.Errorf("allow %q: %w", s.Name, ErrExists)
		}
		return append(all, s), nil
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Deny removes a sender, with its key and its identities. Errors: ErrUnknown.
func (l *SenderList) Deny(ctx context.Context, name string) error {
	return l.change(ctx, func(all []Sender) ([]Sender, error) {
		i := indexOf(all, name)
		if i < 0 {
			return nil, fmt.Errorf("deny %q: %w", name, ErrUnknown)
		}
		return slices.Delete(all, i, i+1), nil
	})
}

// Admit lets an identity write through a bridge, and returns the bridge. Errors: ErrUnknown,
// ErrFull.
func (l *SenderList) Admit(ctx context.Context, name, identity string) (bridge Sender, err error) {
	if err := CheckIdentity(identity); err != nil {
		return bridge, err
	}
	err = l.change(ctx, func(all []Sender) ([]Sender, error) {
		i := indexOf(all, name)
		if i < 0 || !all[i].Bridge {
			return nil, fmt.Errorf("allow %q of the bridge %q: %w", identity, name, ErrUnknown)
		}
		if !all[i].Knows(identity) {
			all[i].Identities = append(slices.Clone(all[i].Identities), identity)
		}
		bridge = all[i]
		return all, nil
	})
	return bridge, err
}

// Expel ends an identity's right to write through a bridge. Errors: ErrUnknown.
func (l *SenderList) Expel(ctx context.Context, bridge, identity string) error {
	return l.change(ctx, func(all []Sender) ([]Sender, error) {
		i := indexOf(all, bridge)
		if i < 0 || !all[i].Knows(identity) {
			return nil, fmt.Errorf("deny %q of %q: %w", identity, bridge, ErrUnknown)
		}
		all[i].Identities = slices.DeleteFunc(slices.Clone(all[i].Identities), func(id string) bool { return id == identity })
		return all, nil
	})
}

// Used records today as the day on which a sender has last written. It writes the file at most once
// a day.
func (l *SenderList) Used(ctx context.Context, name string) error {
	today := l.now().UTC().Format(time.DateOnly)
	if s, ok := l.ByName(name); !ok || s.LastUsed == today {
		return nil
	}
	return l.change(ctx, func(all []Sender) ([]Sender, error) {
		if i := indexOf(all, name); i >= 0 {
			all[i].LastUsed = today
		}
		return all, nil
	})
}

// change edits the list under its lock. When it returns, the new list is on disk.
func (l *SenderList) change(ctx context.Context, edit func([]Sender) ([]Sender, error)) error {
	return l.file.Change(ctx, func(all *[]Sender) (err error) {
		*all, err = edit(*all)
		return err
	})
}

// format returns the list as JSON, with each sender on its own line, so that a person can read the
// file.
func format(all []Sender) (data []byte, err error) {
	data = fields.Array(len(all), 0, func(b []byte, i int) []byte {
		line, merr := json.Marshal(all[i])
		err = errors.Join(err, merr)
		return append(b, line...)
	})
	return data, err
}
