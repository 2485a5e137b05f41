package outside

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"c2c/inbox/mail"
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

// verify checks the signature of a request whose URL names its sender. For that it reads the body,
// but does not interpret it.
func (h *Hooks) verify(r *http.Request, q *request) error {
	name := q.query["from"]
	s, ok := h.cfg.Senders.ByName(name)
	no := func(why string) error { return h.nobody(name, cmp.Or(s.Scheme, "token"), why) }
	switch {
	case len(r.Header.Values("Authorization")) > 0:
		return no("no sender has this token: it was denied, or never allowed")
	case name == "":
		return no("it has no token, and its URL names no sender")
	case !ok:
		return no("no sender has this name: it was denied, or never allowed")
	case s.Scheme == "":
		return no("it has no token")
	}
	for _, header := range []string{hubSignature, hubEvent, hookID, hookTime, hookSignature} {
		if len(r.Header.Values(header)) > 1 {
			return no("it has the header " + header + " more than once")
		}
	}
	if s.Scheme == GitHub && r.Header.Get(hubSignature) == "" || s.Scheme == Standard && r.Header.Get(hookSignature) == "" {
		return no("it has no signature")
	}
	select {
	case h.unproven <- struct{}{}:
		defer func() { <-h.unproven }()
	default:
		return &refusal{http.StatusServiceUnavailable, "too many requests at once; send it again", 5}
	}
	if err := q.readBody(r); err != nil {
		return err
	}
	why := ""
	switch s.Scheme {
	case GitHub:
		q.proof, why = ofGitHub(s.Key(), r.Header, q.body)
		q.event = r.Header.Get(hubEvent)
	case Standard:
		q.proof, why = ofStandard(s.Key(), r.Header, q.body, h.cfg.Now())
	}
	if why != "" {
		return no(why)
	}
	q.sender = s
	return nil
}

const wrongSecret = "its signature was not made with the secret of the sender"

// ofGitHub checks a signature in GitHub's form; why is empty if it is valid. GitHub does not sign
// its delivery id, so the signature itself identifies the request; see request.proof.
func ofGitHub(key []byte, h http.Header, body []byte) (proof, why string) {
	given, has := strings.CutPrefix(h.Get(hubSignature), "sha256=")
	mac, err := hex.DecodeString(given)
	if !has || err != nil || len(key) == 0 || !hmac.Equal(mac, macOf(key, body)) {
		return "", wrongSecret
	}
	return "github " + hex.EncodeToString(mac), ""
}

// ofStandard checks a signature in the form of Standard Webhooks, which covers the id, the time and
// the body.
func ofStandard(key []byte, h http.Header, body []byte, now time.Time) (proof, why string) {
	id, at := h.Get(hookID), h.Get(hookTime)
	if id == "" || len(id) > 256 || strings.Contains(id, ".") || len(key) == 0 {
		return "", "its " + hookID + " is empty, too long or has a dot" // with a dot, the signed text could be split in two ways
	}
	seconds, err := strconv.ParseUint(at, 10, 40)
	if err != nil || time.Unix(int64(seconds), 0).Sub(now).Abs() > maxSkew {
		return "", "its clock and ours differ by more than 5 minutes, or it comes late"
	}
	want, ok := macOf(key, []byte(id+"."+at+"."), body), false
	list := strings.SplitN(h.Get(hookSignature), " ", maxSignatures+1)
	for _, one := range list[:min(len(list), maxSignatures)] {
		given, has := strings.CutPrefix(one, "v1,")
		mac, err := base64.StdEncoding.DecodeString(given)
		ok = ok || has && err == nil && hmac.Equal(mac, want)
	}
	if !ok {
		return "", wrongSecret
	}
	return "standard " + id, ""
}

func macOf(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// idOf derives the id of a message from the proof of its request, so that a mailbox stores a
// repeated request only once.
func idOf(s Sender, proof string) string {
	sum := webhookSumOf(s, proof)
	return mail.UUIDOf(8, [16]byte(sum[:16]))
}

// sumOf identifies a request by a hash. The hash includes the time at which the sender was added,
// so the requests of a later sender with the same name have other hashes.
func webhookSumOf(s Sender, proof string) [sha256.Size]byte {
	return sha256.Sum256([]byte("webhook\x00" + s.Name + "\x00" + strconv.FormatFloat(s.Created, 'f', -1, 64) + "\x00" + proof))
}

// firstLine returns a line that names the event of a request from GitHub; "" for other requests.
func (q *request) firstLine() string {
	if q.event == "" || mail.CheckWord("event", q.event) != nil {
		return ""
	}
	return "GitHub event: " + q.event + "\n"
}
