package relay

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"c2c/internal/atomicfile"
)

const (
	keyFile = "key"
	maxKey  = 4 << 10
	signs   = "ed25519 " // the prefix of the signing half in the file; an ed25519 seed follows
)

// Key is the secret key of this host. Any goroutine may use it.
type Key struct {
	sign   ed25519.PrivateKey
	open   *age.HybridIdentity
	public Public
}

// ErrKeyLost means that the key file is gone, and paired hosts know this host by that key.
var ErrKeyLost = errors.New("the key of this machine is gone, and other machines know this machine by that key")

// LoadKey reads the key of this host. The first time, it makes the key. A damaged key is an error.
// A missing key is an error if hosts are paired with this one: LoadKey makes no new key then,
// because the paired hosts would take a machine with a new key for another host.
func LoadKey(ctx context.Context, dir *atomicfile.Dir) (*Key, error) {
	k, err := ReadKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	err = withLock(ctx, dir, func() error {
		if k, err = ReadKey(dir); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		all, err := OpenHosts(dir, time.Now).All()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(h Host) bool { return h.Revoked == 0 }) {
			return fmt.Errorf("read %s/%s: %w", dir.Path(), keyFile, ErrKeyLost)
		}
		if k, err = NewKey(); err != nil {
			return err
		}
		return dir.Replace(keyFile, k.text())
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// NewKey makes a key without writing it to disk.
func NewKey() (*Key, error) {
	_, sign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of this host: %w", err)
	}
	open, err := age.GenerateHybridIdentity()
	if err != nil {
		return nil, fmt.Errorf("make the key of this host: %w", err)
	}
	return newKey(sign, open), nil
}

func newKey(sign ed25519.PrivateKey, open *age.HybridIdentity) *Key {
	return &Key{sign, open, newPublic(sign.Public().(ed25519.PublicKey), open.Recipient())}
}

func (k *Key) text() []byte {
	return fmt.Appendf(nil, "# The secret key of this host, for mail between machines. Keep it secret, and do not copy it to another machine.\n%s%s\n%s\n",
		signs, base64.StdEncoding.EncodeToString(k.sign.Seed()), k.open)
}

// ReadKey reads the key of this host as LoadKey does, but never makes a key. If there is no key,
// the error is fs.ErrNotExist.
func ReadKey(dir *atomicfile.Dir) (*Key, error) {
	data, err := atomicfile.ReadPrivate(dir, keyFile, maxKey)
	if err != nil {
		return nil, err
	}
	k, err := parseKey(data)
	if err != nil {
		return nil, dir.Damaged(keyFile, err)
	}
	return k, nil
}

func parseKey(data []byte) (*Key, error) {
	lines := strings.Split(strings.TrimSpace(string(data)), "\n") // see text
	if len(lines) != 3 {
		return nil, errors.New("it has not the three lines of a key")
	}
	seed, ok := strings.CutPrefix(lines[1], signs)
	raw, err := base64.StdEncoding.Strict().DecodeString(seed)
	if !ok || err != nil || len(raw) != ed25519.SeedSize {
		return nil, errors.New("the signing half is not an ed25519 seed") // do not print it: it is secret
	}
	open, err := age.ParseHybridIdentity(lines[2])
	if err != nil {
		return nil, errors.New("the decrypting half is not a hybrid identity of age")
	}
	return newKey(ed25519.NewKeyFromSeed(raw), open), nil
}

// Public returns the public half of the key.
func (k *Key) Public() Public { return k.public }

// Sign signs data. The data must begin with its purpose, because this host signs everything with
// one key, and a signature for one purpose must not be valid for another.
func (k *Key) Sign(data []byte) []byte { return ed25519.Sign(k.sign, data) }

// Open decrypts data that was sealed for this host. If the result has more than limit bytes, it
// returns an error.
func (k *Key) Open(sealed []byte, limit int64) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), k.open)
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	if int64(len(plain)) > limit {
		return nil, fmt.Errorf("decrypt: the content has more than %d bytes", limit)
	}
	return plain, nil
}

// Public is the public key of a host. With it one can verify the host's signatures, and seal data
// so that only the host can open it. The zero value is no key.
type Public struct {
	sign ed25519.PublicKey
	seal *age.HybridRecipient
	id   string
}

func newPublic(sign ed25519.PublicKey, seal *age.HybridRecipient) Public {
	sum := sha256.Sum256(append([]byte("c2c host\x00"+string(sign)), seal.String()...))
	return Public{sign, seal, strings.ToLower(idCoding.EncodeToString(sum[:idBytes]))}
}

const idBytes = 20

var idCoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// ID returns a hash of the whole public key, 32 letters and digits. It is unique for each host.
func (p Public) ID() string { return p.id }

// SigningKey returns the part of the public key that verifies signatures. Packets name a host by
// this part.
func (p Public) SigningKey() ed25519.PublicKey { return p.sign }

// Fingerprint returns the ID in the form that people compare: in groups of four characters.
func (p Public) Fingerprint() string {
	var b strings.Builder
	for i, c := range p.id {
		if i > 0 && i%4 == 0 {
			b.WriteByte('-')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Seal encrypts plain so that only the host can decrypt it. The result does not prove who has
// sealed it.
func (p Public) Seal(plain []byte) ([]byte, error) {
	if p.seal == nil {
		return nil, errors.New("seal: there is no key")
	}
	var b bytes.Buffer
	b.Grow(len(plain) + 2<<10)
	w, err := age.Encrypt(&b, p.seal)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return b.Bytes(), nil
}

// publicText is a public key in a file, or in an invitation.
type publicText struct {
	Sign []byte `json:"sign"` // ed25519
	Seal string `json:"seal"` // age's hybrid recipient
}

func (p Public) MarshalJSON() ([]byte, error) {
	if p.seal == nil {
		return nil, errors.New("there is no key")
	}
	return json.Marshal(publicText{p.sign, p.seal.String()})
}

func (p *Public) UnmarshalJSON(data []byte) error {
	var text publicText
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if len(text.Sign) != ed25519.PublicKeySize {
		return errors.New("the signing half is not an ed25519 key")
	}
	seal, err := age.ParseHybridRecipient(text.Seal)
	if err != nil {
		return errors.New("the encrypting half is not a hybrid recipient of age")
	}
	*p = newPublic(text.Sign, seal)
	return nil
}
