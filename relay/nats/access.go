package nats

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"c2c/inbox/mail"
)

// Access has all that one host needs to use a hub. It is secret.
type Access struct {
	Fleet string   `json:"fleet"`
	Host  string   `json:"host,omitempty"` // the name of this host at the hub; "": the Access is for the hub's owner
	URL   string   `json:"url"`            // nats://host:port, tls://host:port, or wss://host:port where only HTTPS is allowed; for a cluster, the addresses of its nodes with commas between them
	CA    string   `json:"ca,omitempty"`   // certificates in PEM that prove the hub's identity; "": use the certificates that the system trusts
	Hosts []string `json:"hosts"`          // the hosts of the fleet
	Seed  string   `json:"seed"`           // the secret half of this host's nkey
}

// MaxAccess is the greatest size of a file with an Access, in bytes.
const MaxAccess = 256 << 10

// ParseAccess reads an Access.
func ParseAccess(data []byte) (a Access, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&a); err != nil {
		return Access{}, fmt.Errorf("not a file from c2c relay hub: %w", err)
	}
	return a, a.check()
}

func (a Access) check() error {
	for _, name := range slices.Concat([]string{a.Fleet}, a.Hosts) {
		if err := mail.CheckHost(name); err != nil {
			return err
		}
	}
	if a.Host != "" && !slices.Contains(a.Hosts, a.Host) {
		return fmt.Errorf("host %.80q is not in the fleet %q", a.Host, a.Fleet)
	}
	if err := CheckURL(a.URL); err != nil {
		return err
	}
	_, err := a.options()
	return err
}

// CheckURL returns nil if text is the address of a hub, or the addresses of a cluster's nodes with
// commas between them.
func CheckURL(text string) error {
	for node := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(node)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "wss" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("%.100q is not the address of a hub: give nats://HOST:PORT, tls://HOST:PORT or wss://HOST:PORT", node)
		}
	}
	return nil
}

// Text returns an Access in the form that ParseAccess reads.
func (a Access) Text() ([]byte, error) {
	data, err := json.MarshalIndent(a, "", " ")
	return append(data, '\n'), err
}

// inbox returns the prefix of the subjects on which the hub answers this host. No other host may
// subscribe to them.
func (a Access) inbox() string {
	if a.Host == "" {
		return "_INBOX.owner"
	}
	return "_INBOX.host." + a.Host
}

// answer returns the subject for the hub's answer to a packet for a host. The argument n is the
// packet's number if it has messages, see way; otherwise 0.
func (a Access) answer(n int, peer string) string {
	return fmt.Sprintf("%s.stored.%d.%s", a.inbox(), n, peer)
}

// options returns the options of a connection that the hub accepts as this host's.
func (a Access) options() ([]client.Option, error) {
	pair, err := nkeys.FromSeed([]byte(a.Seed))
	if err != nil {
		return nil, errors.New("its seed is not an nkey") // the seed is secret, so no part of it is printed
	}
	public, err := pair.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return nil, errors.New("its seed is not an nkey of a user")
	}
	opts := []client.Option{client.Nkey(public, pair.Sign), client.CustomInboxPrefix(a.inbox()), client.Name("c2c relay " + a.Host)}
	if a.CA == "" {
		return opts, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(a.CA)) {
		return nil, errors.New("its ca is not a certificate in PEM")
	}
	return append(opts, client.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})), nil
}
