package outside

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"slices"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

const (
	pairingFile = "pairing.json"

	maxCodes = 3         // open codes of one bridge
	codeTime = time.Hour // how long a code is open, that is, waits for approval
	codeLen  = 8

	maxGuesses = 5 // allowed wrong codes within guessTime
	guessTime  = time.Minute
)

// codeLetters are the letters and digits of a code. Characters that look alike are left out.
const codeLetters = "abcdefghjkmnpqrstuvwxyz23456789"

// pairing is the content of pairing.json.
type pairing struct {
	Codes []code    `json:"codes"`
	Wrong []float64 `json:"wrong"` // times of wrong codes
}

// code is a pairing code that a person behind a bridge has received.
type code struct {
	Code     string  `json:"code"`
	Bridge   string  `json:"bridge"`
	Identity string  `json:"identity"`
	Expires  float64 `json:"expires"`
}

// Knocked is a pairing that waits for approval, as c2c shows it. It has no field for the code,
// because the person who approves must get the code from the person behind the bridge.
type Knocked struct {
	Bridge   string  `json:"bridge"`
	Identity string  `json:"identity"`
	Expires  float64 `json:"expires"`
}

// Knock handles an unknown identity that writes through a bridge. It makes a code for the identity
// and returns it in shown; then first is true. While this code is open, or maxCodes codes of the
// bridge are open, Knock makes no code: shown is empty, and first is false. Errors: ErrUnknown.
func (l *SenderList) Knock(ctx context.Context, bridge Sender, identity string) (shown string, first bool, err error) {
	if err := CheckIdentity(identity); err != nil {
		return "", false, err
	}
	err = atomicfile.WithLock(ctx, l.dir, lockFile, func() error {
		all, err := l.file.Read()
		if err != nil {
			return err
		}
		p, err := l.readPairing()
		if err != nil {
			return err
		}
		i := indexOf(all, bridge.Name)
		if i < 0 || !all[i].Bridge {
			return fmt.Errorf("pair with %q: %w", bridge.Name, ErrUnknown)
		}
		open := 0
		for _, c := range p.Codes {
			if c.Bridge != bridge.Name {
				continue
			}
			if open++; c.Identity == identity {
				return nil
			}
		}
		if open >= maxCodes || all[i].Knows(identity) {
			return nil
		}
		shown, first = newCode(), true
		p.Codes = append(p.Codes, code{shown, bridge.Name, identity, mail.Seconds(l.now().Add(codeTime))})
		return l.writePairing(p)
	})
	if err != nil {
		return "", false, err
	}
	return shown, first, nil
}

func newCode() string {
	var b strings.Builder
	for range codeLen {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(codeLetters)))) // never fails
		b.WriteByte(codeLetters[n.Int64()])
	}
	return b.String()
}

// Pair allows the identity that has received the typed code to write through its bridge. The code
// may be typed in upper or lower case, with blanks or hyphens. Errors: ErrCode, ErrGuesses,
// ErrFull.
func (l *SenderList) Pair(ctx context.Context, typed string) (bridge Sender, identity string, err error) {
	wanted := strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(typed))
	err = l.change(ctx, func(all []Sender) ([]Sender, error) {
		p, err := l.readPairing()
		if err != nil {
			return nil, err
		}
		if len(p.Wrong) >= maxGuesses {
			return nil, ErrGuesses
		}
		i := slices.IndexFunc(p.Codes, func(c code) bool { return c.Code == wanted })
		j := -1
		if i >= 0 {
			j = indexOf(all, p.Codes[i].Bridge)
		}
		if j < 0 {
			p.Wrong = append(p.Wrong, mail.Seconds(l.now()))
			return nil, errors.Join(ErrCode, l.writePairing(p))
		}
		// The code stays until it expires. That does no harm: Knock gives no code to a known
		// identity.
		bridge, identity = all[j], p.Codes[i].Identity
		if !bridge.Knows(identity) {
			bridge.Identities = append(slices.Clone(bridge.Identities), identity)
			all[j] = bridge
		}
		return all, nil
	})
	if err != nil {
		return Sender{}, "", err
	}
	return bridge, identity, atomicfile.WithLock(ctx, l.dir, lockFile, func() error {
		return l.dropCodes(func(c code) bool { return c.Code == wanted })
	})
}

// Unpair revokes an identity's right to write through a bridge. Errors: ErrUnknown.
func (l *SenderList) Unpair(ctx context.Context, bridge, identity string) error {
	return l.change(ctx, func(all []Sender) ([]Sender, error) {
		i := indexOf(all, bridge)
		if i < 0 || !all[i].Knows(identity) {
			return nil, fmt.Errorf("deny %q of %q: %w", identity, bridge, ErrUnknown)
		}
		all[i].Identities = slices.DeleteFunc(slices.Clone(all[i].Identities), func(id string) bool { return id == identity })
		return all, nil
	})
}

// Waiting returns the pairings that wait for approval.
func (l *SenderList) Waiting() (all []Knocked, err error) {
	p, err := l.readPairing()
	for _, c := range p.Codes {
		all = append(all, Knocked{c.Bridge, c.Identity, c.Expires})
	}
	return all, err
}

// dropCodes removes the codes that match. The caller holds the lock.
func (l *SenderList) dropCodes(match func(code) bool) error {
	p, err := l.readPairing()
	if err != nil {
		return err
	}
	n := len(p.Codes)
	p.Codes = slices.DeleteFunc(p.Codes, match)
	if len(p.Codes) == n {
		return nil
	}
	return l.writePairing(p)
}

// readPairing returns the open codes. A file that cannot be parsed counts as empty: then the
// identities get new codes.
func (l *SenderList) readPairing() (p pairing, err error) {
	data, err := l.dir.ReadMost(pairingFile, maxList)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, atomicfile.ErrTooLarge) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if json.Unmarshal(data, &p) != nil {
		return pairing{}, nil
	}
	now := l.now()
	p.Codes = slices.DeleteFunc(p.Codes, func(c code) bool {
		return c.Expires <= mail.Seconds(now) || len(c.Code) != codeLen || CheckIdentity(c.Identity) != nil
	})
	p.Wrong = slices.DeleteFunc(p.Wrong, func(at float64) bool {
		return at <= mail.Seconds(now.Add(-guessTime)) || at > mail.Seconds(now)
	})
	return p, nil
}

func (l *SenderList) writePairing(p pairing) error {
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	return l.dir.Replace(pairingFile, append(data, '\n'))
}
