package nats

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"c2c/inbox/mail"
)

// consumer is the name of the consumer with which a host reads its stream.
const consumer = "relay"

// StreamName returns the name of the stream in which the packets for a host wait.
func StreamName(host string) string { return "C2C_" + host }

// Hub describes a hub, for its owner. It has no secrets.
type Hub struct {
	Fleet  string   `json:"fleet"`
	Listen string   `json:"listen"` // host:port
	URL    string   `json:"url"`    // the address at which the hosts reach the hub
	CA     string   `json:"ca,omitempty"`
	Owner  string   `json:"owner"` // the public nkey of the owner
	Hosts  []Member `json:"hosts"`
}

// Member is a host of a hub.
type Member struct {
	Name string `json:"name"`
	Key  string `json:"nkey"` // its public nkey
}

// Check returns an error if no hub can run with these values.
func (h Hub) Check() error {
	if err := mail.CheckHost(h.Fleet); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	_, port, _ := net.SplitHostPort(h.Listen)
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%.100q is not an address to listen at: give HOST:PORT", h.Listen)
	}
	if err := CheckURL(h.URL); err != nil {
		return err
	}
	if h.CA != "" && (len(h.CA) > MaxAccess/4 || !x509.NewCertPool().AppendCertsFromPEM([]byte(h.CA))) {
		return fmt.Errorf("ca: not a certificate in PEM of at most %d bytes", MaxAccess/4)
	}
	for _, m := range h.Hosts {
		if err := mail.CheckHost(m.Name); err != nil {
			return err
		}
		if !nkeys.IsValidPublicUserKey(m.Key) {
			return fmt.Errorf("%.80q is not a public nkey of a user", m.Key)
		}
	}
	return nil
}

// NewSeed makes a new nkey for a host, and returns its secret half and its public half.
func NewSeed() (seed, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", fmt.Errorf("make an nkey: %w", err)
	}
	secret, err := pair.Seed()
	if err == nil {
		public, err = pair.PublicKey()
	}
	return string(secret), public, err
}

// Access returns the Access for a host with this seed; if host is "", the Access for the owner.
func (h Hub) Access(host, seed string) Access {
	a := Access{Fleet: h.Fleet, Host: host, URL: h.URL, CA: h.CA, Seed: seed}
	for _, m := range h.Hosts {
		a.Hosts = append(a.Hosts, m.Name)
	}
	return a
}

// HostsFile is the name of the file with the HostsConfig. It is beside the configuration of each
// server, which includes it.
const HostsFile = "hosts.conf"

// ServerConfig returns a configuration file for each nats-server of the hub, by name: one for each
// address in the URL. The argument dir is the directory for the servers' files, and seed the
// owner's. From then on the files belong to the owner.
func (h Hub) ServerConfig(dir, seed string) map[string]string {
	nodes, all := strings.Split(h.URL, ","), map[string]string{}
	if len(nodes) == 1 {
		all["nats-server.conf"] = h.serverConfig("", h.Listen, dir, "")
		return all
	}
	secret := sha256.Sum256([]byte("c2c routes\x00" + seed)) // whoever has it can join the cluster as a server
	host, _, _ := net.SplitHostPort(h.Listen)
	var ports []int
	var routes []string
	for _, node := range nodes {
		u, _ := url.Parse(node) // Check has parsed it
		port, _ := strconv.Atoi(cmp.Or(u.Port(), "4222"))
		ports = append(ports, port)
		routes = append(routes, fmt.Sprintf("\"nats-route://c2c:%x@%s\"", secret[:16], net.JoinHostPort(u.Hostname(), strconv.Itoa(port+2000))))
	}
	for i, node := range nodes {
		number := fmt.Sprint("-", i+1)
		all["nats-server"+number+".conf"] = h.serverConfig(number, net.JoinHostPort(host, strconv.Itoa(ports[i])), dir, fmt.Sprintf(`
# This is the server %s. Without tls here, keep others from the network between the servers.
cluster {
  name: c2c-%s
  listen: %q
  authorization { user: c2c, password: "%x" }
  routes: [%s]
}
`, node, h.Fleet, net.JoinHostPort(host, strconv.Itoa(ports[i]+2000)), secret[:16], strings.Join(routes, ", ")))
	}
	return all
}

func (h Hub) serverConfig(number, listen, dir, cluster string) string {
	return fmt.Sprintf(`# The hub of the fleet %[1]s, for nats-server 2.10 or newer. c2c relay hub has written this file, and does not change it: it is yours.
server_name: c2c-%[1]s%[2]s
listen: %[3]q
max_payload: 1048576

jetstream {
  store_dir: %[4]q
  # What the hub has taken survives a power cut. With the default, up to two minutes of mail would be sent again.
  sync_interval: always
}

# If other machines connect, fill in a certificate, and give the hosts tls://... by --url.
# include "tls.conf"    # tls { cert_file: "/path/cert.pem", key_file: "/path/key.pem" }
# For hosts that may only use HTTPS, whose files have wss://HOST as url:
# websocket { port: 443, tls { cert_file: "/path/cert.pem", key_file: "/path/key.pem" } }
%[5]s
accounts {
  C2C {
    jetstream: enabled
    include %[6]q    # the hosts; c2c relay hub writes this file
  }
}
`, h.Fleet, number, listen, dir+"/jetstream"+number, cluster, HostsFile)
}

// HostsConfig returns the part of the servers' configuration that says what the owner and each host
// may do.
func (h Hub) HostsConfig() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# c2c relay hub writes this file. Reload each server after a change: nats-server --signal reload
users: [
  # the owner: makes the streams
  %s
`, user(h.Owner, []string{"$JS.API.INFO", "$JS.API.STREAM.>", "$JS.API.CONSUMER.>"}, Access{}.inbox()))
	for _, m := range h.Hosts {
		stream := StreamName(m.Name)
		fmt.Fprintf(&b, "  # %s: writes in its own name alone, and reads its own stream alone\n  %s\n", m.Name, user(m.Key, []string{
			mailSubject(h.Fleet, "*", m.Name), subjectOf(h.Fleet) + "*.p." + m.Name + ".*",
			"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer,
			"$JS.ACK." + stream + "." + consumer + ".>",
			"$JS.ACK.*.*." + stream + "." + consumer + ".*.*.*.*.*", // the subject of the line above, as newer servers may write it
		}, Access{Host: m.Name}.inbox()))
	}
	b.WriteString("]\n")
	return b.String()
}

func user(key string, publish []string, inbox string) string {
	var allowed []string
	for _, s := range publish {
		allowed = append(allowed, strconv.Quote(s))
	}
	return fmt.Sprintf("{ nkey: %s, permissions: { publish: { allow: [%s] }, subscribe: { allow: [%q] } } }", key, strings.Join(allowed, ", "), inbox+".>")
}

// Stream describes the stream of one host, and the consumer of that stream, in JetStream's form.
type Stream struct {
	Config   StreamConfig
	Consumer ConsumerConfig
}

// StreamConfig is JetStream's configuration of a stream, as far as c2c uses it. Times are in
// nanoseconds.
type StreamConfig struct {
	Name        string        `json:"name"`
	Subjects    []string      `json:"subjects"`
	Retention   string        `json:"retention"`
	Storage     string        `json:"storage"`
	Discard     string        `json:"discard"`
	MaxBytes    int64         `json:"max_bytes"`
	MaxAge      time.Duration `json:"max_age"`
	MaxMsgSize  int           `json:"max_msg_size"`
	Replicas    int           `json:"num_replicas"`
	AllowRollup bool          `json:"allow_rollup_hdrs"`
}

// ConsumerConfig is JetStream's configuration of a consumer, as far as c2c uses it. Times are in
// nanoseconds.
type ConsumerConfig struct {
	Durable       string        `json:"durable_name"`
	AckPolicy     string        `json:"ack_policy"`
	AckWait       time.Duration `json:"ack_wait"`
	DeliverPolicy string        `json:"deliver_policy"`
	ReplayPolicy  string        `json:"replay_policy"`
	MaxDeliver    int           `json:"max_deliver"`
	MaxAckPending int           `json:"max_ack_pending"`
}

// Streams returns the streams that the hub must have. If a stream is full, the mail waits on the
// sending host. If the hub drops a packet because of its age, the sending host still has the mail.
func (h Hub) Streams() (all []Stream) {
	// The server refuses a stream if its disk could not hold all streams when full. So all streams
	// together get at most about 16 GiB.
	size := min(max(16<<30/int64(max(len(h.Hosts), 1)), 16<<20), 256<<20)
	replicas := 1
	if strings.Count(h.URL, ",") >= 2 { // with two servers, none could go on without the other
		replicas = 3
	}
	for _, m := range h.Hosts {
		all = append(all, Stream{
			StreamConfig{Name: StreamName(m.Name), Subjects: []string{mailSubject(h.Fleet, m.Name, "*"), subjectOf(h.Fleet) + m.Name + ".p.*.*"},
				Retention: "workqueue", Storage: "file", Discard: "new", MaxBytes: size, MaxAge: 14 * 24 * time.Hour, MaxMsgSize: 1 << 20,
				Replicas: replicas, AllowRollup: true},
			ConsumerConfig{Durable: consumer, AckPolicy: "explicit", AckWait: 30 * time.Second, DeliverPolicy: "all", ReplayPolicy: "instant",
				MaxDeliver: -1, MaxAckPending: 1000},
		})
	}
	return all
}

// streamInUse is JetStream's error code for a stream that exists already with another
// configuration.
const streamInUse = 10058

// MakeStreams makes streams at the hub, or changes existing streams. Only the owner may do this.
func MakeStreams(ctx context.Context, owner Access, all []Stream) error {
	opts, err := owner.options()
	if err != nil {
		return err
	}
	conn, err := client.Connect(owner.URL, opts...)
	if err != nil {
		return fmt.Errorf("reach the hub %s: %w", owner.URL, err)
	}
	defer conn.Close()
	for _, s := range all {
		err := api(ctx, conn, "STREAM.CREATE."+s.Config.Name, s.Config)
		if failed := (*apiError)(nil); errors.As(err, &failed) && failed.Code == streamInUse {
			err = api(ctx, conn, "STREAM.UPDATE."+s.Config.Name, s.Config)
		}
		if err == nil {
			err = api(ctx, conn, "CONSUMER.DURABLE.CREATE."+s.Config.Name+"."+s.Consumer.Durable, map[string]any{"stream_name": s.Config.Name, "config": s.Consumer})
		}
		if err != nil {
			return fmt.Errorf("make the stream %s: %w", s.Config.Name, err)
		}
	}
	return nil
}

// apiError is an error in an answer of JetStream.
type apiError struct {
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.Code) }

func api(ctx context.Context, conn *client.Conn, call string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	m, err := conn.RequestWithContext(ctx, "$JS.API."+call, data)
	if err != nil {
		return err
	}
	var answer struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return answer.Error
	}
	return nil
}
