package hub

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/e2e/machines"
	"c2c/relay/nats"
	"c2c/relay/relaytest"
)

// certificate makes a certificate of 127.0.0.1 that is its own authority, in PEM, with its key.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plan := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// The lines of the configuration that a person fills in, with a certificate of the team's own.
func TestAHubWithTLSIsTrustedByItsCertificateAlone(t *testing.T) {
	for _, scheme := range []string{"tls", "wss"} {
		t.Run(scheme, func(t *testing.T) { testTLS(t, scheme) })
	}
}

func testTLS(t *testing.T, scheme string) {
	s := prepare(t, "laptop", "devbox", "other")
	cert, key := certificate(t)
	tls := "tls { cert_file: \"" + s.dir + "/cert.pem\", key_file: \"" + s.dir + "/key.pem\" }"
	for name, text := range map[string]string{"cert.pem": string(cert), "key.pem": string(key), "tls.conf": tls + "\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := s.hub.Listen
	s.edit = func(config string) string {
		config = strings.Replace(config, `# include "tls.conf"`, `include "tls.conf"`, 1)
		before, line, _ := strings.Cut(config, "# websocket { port: 443")
		if _, after, found := strings.Cut(line, "\n"); found && scheme == "wss" {
			at = machines.FreeAddress(t)
			config = before + "websocket { listen: \"" + at + "\", " + tls + " }\n" + after
		}
		return config
	}
	s.configure()
	s.hub.URL, s.hub.CA = scheme+"://"+at, string(cert)
	if err := s.hub.Check(); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.makeStreams()
	laptop, devbox := relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "devbox")
	relaytest.Pair(laptop, devbox)
	s.join(laptop, devbox)
	laptop.Start()
	devbox.Start()
	laptop.Send("devbox", message(0))
	s.arrived(laptop, devbox, 1)

	another, _ := certificate(t)
	for what, change := range map[string]func(*nats.Access){
		"the certificate of another": func(a *nats.Access) { a.CA = string(another) },
		"those of the system":        func(a *nats.Access) { a.CA = "" },
		"no wish for TLS":            func(a *nats.Access) { a.CA, a.URL = "", "nats://"+s.hub.Listen },
	} {
		other := relaytest.NewHost(t, "other")
		other.Add(laptop)
		a := s.access("other")
		change(&a)
		carrier := nats.New(nats.Config{Access: a, Peers: func() []string { return []string{"laptop"} }, Changed: s.changed, Now: time.Now})
		other.Carrier = carrier
		other.Start()
		s.await(what+": it is refused", func() bool {
			st := carrier.Status()
			return len(st) == 1 && !st[0].Up && strings.Contains(st[0].Error, "certificate")
		})
		other.Stop()
	}
}
