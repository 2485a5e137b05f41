package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"c2c/inbox/mail"
	"c2c/senders"
)

// The headers of the two schemes of signatures.
const (
	hubSignature = "X-Hub-Signature-256"
	hubEvent     = "X-GitHub-Event"

	hookID        = "webhook-id"
	hookTime      = "webhook-timestamp"
	hookSignature = "webhook-signature"

	maxSkew       = 5 * time.Minute // between the sender's clock and ours
	maxSignatures = 32              // in one request; there are several while a sender changes its secret
)

// verify checks the signature of a request whose URL names its sender. For that it reads the body, but does not interpret it.
func (h *Hooks) verify(w http.ResponseWriter, r *http.Request, q *request) error {
	s, ok := h.cfg.Senders.ByName(q.query["from"])
	if !ok || s.Scheme == "" || len(r.Header.Values("Authorization")) > 0 {
		return h.nobody()
	}
	for _, name := range []string{hubSignature, hubEvent, hookID, hookTime, hookSignature} {
		if len(r.Header.Values(name)) > 1 {
			return h.nobody()
		}
	}
	if s.Scheme == senders.GitHub && r.Header.Get(hubSignature) == "" || s.Scheme == senders.Standard && r.Header.Get(hookSignature) == "" {
		return h.nobody()
	}
	leave := h.unproven.enter(w)
	defer leave()
	if err := q.readBody(r); err != nil {
		return err
	}
	switch s.Scheme {
	case senders.GitHub:
		q.proof, ok = ofGitHub(s.Key(), r.Header, q.body)
		q.event = r.Header.Get(hubEvent)
	case senders.Standard:
		q.proof, ok = ofStandard(s.Key(), r.Header, q.body, h.cfg.Now())
	}
	if !ok {
		return h.nobody()
	}
	q.sender = s
	return nil
}

// ofGitHub checks a signature in GitHub's form. GitHub does not sign its delivery id, so the signature itself identifies the
// request; see request.proof.
func ofGitHub(key []byte, h http.Header, body []byte) (proof string, ok bool) {
	given, has := strings.CutPrefix(h.Get(hubSignature), "sha256=")
	mac, err := hex.DecodeString(given)
	if !has || err != nil || len(key) == 0 || !hmac.Equal(mac, macOf(key, body)) {
		return "", false
	}
	return "github " + hex.EncodeToString(mac), true
}

// ofStandard checks a signature in the form of Standard Webhooks, which covers the id, the time and the body.
func ofStandard(key []byte, h http.Header, body []byte, now time.Time) (proof string, ok bool) {
	id, at := h.Get(hookID), h.Get(hookTime)
	if id == "" || len(id) > 256 || strings.Contains(id, ".") || len(key) == 0 {
		return "", false // with a dot in the id, the signed text could be split into id and time in two ways
	}
	seconds, err := strconv.ParseUint(at, 10, 40)
	if err != nil || time.Unix(int64(seconds), 0).Sub(now).Abs() > maxSkew {
		return "", false
	}
	want := macOf(key, []byte(id+"."+at+"."), body)
	list := strings.SplitN(h.Get(hookSignature), " ", maxSignatures+1)
	for _, one := range list[:min(len(list), maxSignatures)] {
		given, has := strings.CutPrefix(one, "v1,")
		mac, err := base64.StdEncoding.DecodeString(given)
		ok = ok || has && err == nil && hmac.Equal(mac, want)
	}
	return "standard " + id, ok
}

func macOf(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// idOf derives the id of a message from the proof of its request, so that a mailbox stores a repeated request only once.
func idOf(s senders.Sender, proof string) string {
	sum := sumOf(s, proof)
	return mail.UUIDOf(8, [16]byte(sum[:16]))
}

// sumOf identifies a request by a hash. The hash includes the time at which the sender was added, so the requests of a
// later sender with the same name have other hashes.
func sumOf(s senders.Sender, proof string) [sha256.Size]byte {
	return sha256.Sum256([]byte("webhook\x00" + s.Name + "\x00" + strconv.FormatFloat(s.Created, 'f', -1, 64) + "\x00" + proof))
}

// unproven holds the requests whose bodies verify is reading, before it knows whether the sender is genuine. They take memory, so only a
// few are allowed. If there are too many, a new one ends the oldest. So a client whose requests never end does not shut out other clients.
type unproven struct {
	mu  sync.Mutex
	all []*reading
}

// reading is one request whose body verify is reading. The function end makes that read fail.
type reading struct{ end func() }

const maxUnproven = 64

func (u *unproven) enter(w http.ResponseWriter) (leave func()) {
	one := &reading{func() { http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) }}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.all) >= maxUnproven {
		u.all[0].end()
		u.all = u.all[1:]
	}
	u.all = append(u.all, one)
	return func() { u.remove(one) }
}

func (u *unproven) remove(one *reading) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = slices.DeleteFunc(u.all, func(other *reading) bool { return other == one })
}

// firstLine returns a line that names the event of a request from GitHub; "" for other requests.
func (q *request) firstLine() string {
	if q.event == "" || mail.CheckWord("event", q.event) != nil {
		return ""
	}
	return "GitHub event: " + q.event + "\n"
}
