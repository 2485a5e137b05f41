package outside

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The secret, the body and the signature of GitHub's own documentation ("Validating webhook
// deliveries").
func TestTheExampleOfGitHub(t *testing.T) {
	h := map[string][]string{hubHeader: {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}
	if _, why := ofGitHub([]byte("It's a Secret to Everybody"), h, []byte("Hello, World!")); why != "" {
		t.Error(why)
	}
}

// hubHeader is the header as net/http writes it.
const hubHeader = "X-Hub-Signature-256"

// The example of the Standard Webhooks specification.
func TestTheExampleOfStandardWebhooks(t *testing.T) {
	const id, at, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`
	s := Sender{Scheme: Standard, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	h := map[string][]string{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}}
	if _, why := ofStandard(s.Key(), h, []byte(body), time.Unix(1614265330, 0)); why != "" {
		t.Error(why)
	}
}

func TestWhatGitHubSignsIsMail(t *testing.T) {
	d := webhookNewDesk(t)
	secret := d.allow(Sender{Name: "hub", Scheme: GitHub})
	data, err := os.ReadFile("testdata/github-ping.json")
	if err != nil {
		t.Fatal(err)
	}
	body := string(data)
	sign := func(body string) []string {
		return []string{hubHeader, signHub(secret, body), "X-Github-Event", "ping", "Content-Type", "application/json"}
	}
	d.want(200, "queued", "/in/birch?from=hub&kind=status", body, sign(body)...)
	if m, o := d.last("birch"); m.Content != "GitHub event: ping\n"+body || m.From != "external-hub" || m.Kind != "status" || o.ChatID != "hub" {
		t.Errorf("%+v %+v", m, o)
	}
	form := "payload=" + url.QueryEscape(`{"zen":"Design for failure."}`)
	d.want(200, "ok", "/?from=hub", form, hubHeader, signHub(secret, form), "X-Github-Event", "a\" b", "Content-Type", "application/x-www-form-urlencoded")
	if m, _ := d.last("birch"); m.Content != `{"zen":"Design for failure."}` {
		t.Errorf("%+v", m)
	}
	// A sender that did not read our answer sends it again. It is told that all is well, or it
	// would end what it sends for good.
	const again = `"duplicate":true`
	d.want(200, again, "/in/birch?from=hub&kind=status", body, sign(body)...)
	d.want(200, "ok", "/?from=hub", form, hubHeader, signHub(secret, form), "Content-Type", "application/x-www-form-urlencoded")
	// The mailbox knows it, too, should the list of what was seen be lost.
	if err := d.dir.Rename("seen", "gone"); err != nil {
		t.Fatal(err)
	}
	d.want(200, again, "/in/birch?from=hub&kind=status", body, sign(body)...)
	if n := len(d.mail("birch")); n != 2 {
		t.Errorf("%d messages", n)
	}
	// And what was seen is no mail again when the alias has another mailbox, which never had it.
	if err := os.Remove(filepath.Join(d.b.Root(), "s-birch.inbox.json")); err != nil {
		t.Fatal(err)
	}
	d.want(200, again, "/in/birch?from=hub&kind=status", body, sign(body)...)
	if n := len(d.mail("birch")); n != 0 {
		t.Errorf("%d messages in the new mailbox", n)
	}
}

// Its lines do not tell what a request said: one that comes again counts as the same, and is not
// stored again.
func TestARequestOnAnOlderVersionsListIsAnsweredAsBefore(t *testing.T) {
	d := webhookNewDesk(t)
	secret := d.allow(Sender{Name: "hub", Scheme: GitHub})
	first := []string{hubHeader, signHub(secret, "{}")}
	d.want(200, "ok", "/?from=hub", "{}", first...)
	path := filepath.Join(d.dir.Path(), seenDir, "hub.log")
	line, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(line[:2*seenSize], '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.want(200, "ok", "/?from=hub", "{}", first...)
	if n := len(d.mail("birch")); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestASignatureThatIsWrongIsNobodys(t *testing.T) {
	d := webhookNewDesk(t)
	secret := d.allow(Sender{Name: "hub", Scheme: GitHub})
	std := d.allow(Sender{Name: "std", Scheme: Standard})
	token := d.allow(Sender{Name: "ci"})
	good := signHub(secret, "{}")
	at := unix(d.now())
	for _, c := range [][]string{
		{"/?from=hub", "{}", hubHeader, strings.Replace(good, "sha256=", "sha1=", 1)}, {"/?from=hub", "{}", hubHeader, good[:len(good)-2]}, {"/?from=hub", "{}", hubHeader, ""},
		{"/?from=hub", "{} ", hubHeader, good}, {"/?from=std", "{}", hubHeader, good}, {"/?from=ci", "{}", hubHeader, good}, {"/?from=HUB", "{}", hubHeader, good},
		{"/", "{}", hubHeader, good}, {"/?from=hub", "{}", hubHeader, good, hubHeader, good}, {"/?from=hub", "{}", hubHeader, signHub(token, "{}")},
		{"/?from=hub", "{}", hubHeader, good, "key", token[1:]}, {"/?from=hub", "{}", hubHeader, "sha256="}, {"/?from=ghost", "{}", hubHeader, signHub("", "{}")},
		{"/?from=std", "{}", "Webhook-Id", "m1", "Webhook-Timestamp", at, "Webhook-Signature", signStandard(t, std, "m2", at, "{}")},
		{"/?from=std", "{}", "Webhook-Id", "", "Webhook-Timestamp", at, "Webhook-Signature", signStandard(t, std, "", at, "{}")},
		{"/?from=std", "{}", "Webhook-Id", "m1.1", "Webhook-Timestamp", at, "Webhook-Signature", signStandard(t, std, "m1.1", at, "{}")},
		{"/?from=std", "{}", "Webhook-Id", "m1", "Webhook-Timestamp", "-1", "Webhook-Signature", signStandard(t, std, "m1", "-1", "{}")},
		{"/?from=std", "{}", "Webhook-Id", "m1", "Webhook-Timestamp", "1e9", "Webhook-Signature", signStandard(t, std, "m1", "1e9", "{}")},
		{"/?from=std", "{}", "Webhook-Id", "m1", "Webhook-Timestamp", at, "Webhook-Signature", strings.Replace(signStandard(t, std, "m1", at, "{}"), "v1", "v2", 1)},
		{"/?from=std", "{}", "Webhook-Id", "m1", "Webhook-Timestamp", at, "Webhook-Signature", strings.Repeat("v1,AAAA ", maxSignatures) + signStandard(t, std, "m1", at, "{}")},
	} {
		d.want(401, "token", c[0], c[1], c[2:]...)
		d.pass(time.Second / 2)
	}
	for _, skew := range []time.Duration{-maxSkew - time.Second, maxSkew + 2*time.Second} {
		at := unix(d.now().Add(skew))
		d.want(401, "", "/?from=std", "{}", "Webhook-Id", "m1", "Webhook-Timestamp", at, "Webhook-Signature", signStandard(t, std, "m1", at, "{}"))
	}
	if all := d.mail("birch"); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}

// The person of this machine is told why a request was refused; the caller is not.
func TestARefusalIsToldToThePersonAlone(t *testing.T) {
	d := webhookNewDesk(t)
	hub, std := d.allow(Sender{Name: "hub", Scheme: GitHub}), d.allow(Sender{Name: "std", Scheme: Standard})
	gone := d.allow(Sender{Name: "gone"})
	if err := d.list.Deny(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	old := unix(d.now().Add(-time.Hour))
	said := map[string]bool{}
	for _, tc := range []struct {
		sender, scheme, why string
		request             []string
	}{
		{"hub", "github", wrongSecret, []string{"/?from=hub", "{}", hubHeader, signHub("another", "{}")}},
		{"hub", "github", "it has no signature", []string{"/?from=hub", "{}"}},
		{"std", "standard", "its clock and ours differ", []string{"/?from=std", "{}", "Webhook-Id", "m1", "Webhook-Timestamp", old, "Webhook-Signature", signStandard(t, std, "m1", old, "{}")}},
		{"std", "standard", wrongSecret, []string{"/?from=std", "{}", "Webhook-Id", "m1", "Webhook-Timestamp", unix(d.now()), "Webhook-Signature", "v1,AAAA"}},
		{"nobody", "token", "no sender has this name: it was denied, or never allowed", []string{"/?from=nobody", "{}", hubHeader, signHub(hub, "{}")}},
		{"", "token", "no sender has this token: it was denied, or never allowed", []string{"/", "{}", "Authorization", "Bearer " + gone}},
		{"", "token", "no sender has this name", []string{"/?from=%0a", "{}"}},
	} {
		said[d.want(401, "token", tc.request[0], tc.request[1], tc.request[2:]...)] = true
		r := d.list.Refused()
		if r.Sender != tc.sender || r.Scheme != tc.scheme || !strings.Contains(r.Why, tc.why) || !r.At.Equal(d.now()) {
			t.Errorf("%q: %+v", tc.request, r)
		}
		if line := d.log.String(); !strings.Contains(line, "sender="+tc.sender) || !strings.Contains(line, "scheme="+tc.scheme) || !strings.Contains(line, r.Why) {
			t.Errorf("%q: the log: %s", tc.request, line)
		}
	}
	if len(said) != 1 {
		t.Errorf("the callers are told %v", said)
	}
	d.pass(time.Minute)
	for range int(2 * perSender.Burst) {
		d.want(401, "", "/?from=hub", "{}")
	}
	if n := strings.Count(d.log.String(), "sender=hub"); n != int(perSender.Burst)+2 {
		t.Errorf("%d lines about one sender", n)
	}
	rows, err := d.list.Listed()
	if err != nil || rows[0].Refused == nil || rows[0].Refused.Why != "it has no signature" || rows[1].Refused != nil {
		t.Errorf("%+v, %v", rows, err)
	}
	if log := d.log.String(); strings.Contains(log, hub) || strings.Contains(log, std) || strings.Contains(log, gone) {
		t.Errorf("the log has a key: %s", log)
	}
}

// The receiver has the mail that can still be read, and the new one, as it has from a session here.
func TestADamagedMailboxTakesMail(t *testing.T) {
	d := webhookNewDesk(t)
	key := d.allow(Sender{Name: "ci"})
	box := filepath.Join(d.b.Root(), "s-birch.inbox.json")
	if err := os.WriteFile(box, []byte("[{ cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.want(200, "queued", "/in/birch", "build failed", "Authorization", "Bearer "+key)
	if m, _ := d.last("birch"); m.Content != "build failed" {
		t.Errorf("%+v", m)
	}
	if kept, err := filepath.Glob(box[:len(box)-len(".inbox.json")] + "*corrupt*"); err != nil || len(kept) != 1 {
		t.Errorf("set aside: %q, %v", kept, err)
	}
}

func TestWhatStandardWebhooksSignIsMail(t *testing.T) {
	d := webhookNewDesk(t)
	secret := d.allow(Sender{Name: "std", Scheme: Standard})
	send := func(status int, says, id, body string) {
		t.Helper()
		at := unix(d.now())
		d.want(status, says, "/in/birch?from=std", body, "Webhook-Id", id, "Webhook-Timestamp", at,
			"Webhook-Signature", "v1,AAAA v1a,xyz "+signStandard(t, secret, id, at, body), "Content-Type", "application/json")
	}
	send(200, "queued", "msg_1", `{"type":"invoice.paid","data":{}}`)
	if m, _ := d.last("birch"); m.Content != `{"type":"invoice.paid","data":{}}` {
		t.Errorf("%+v", m)
	}
	send(200, "queued", "msg_2", `{"text":"hi","kind":"task","message_id":"mine"}`)
	if m, _ := d.last("birch"); m.Content != "hi" || m.Kind != "task" || m.ID == "mine" {
		t.Errorf("%+v", m)
	}
	d.pass(time.Minute)
	send(200, `"duplicate":true`, "msg_1", `{"type":"invoice.paid","data":{}}`)
	send(409, "accepted before", "msg_1", `{"type":"another"}`)
	d.pass(time.Hour)
	send(200, `"duplicate":true`, "msg_2", `{"text":"hi","kind":"task","message_id":"mine"}`)
	send(409, "accepted before", "msg_2", `{"text":"hi"}`)
	if n := len(d.mail("birch")); n != 2 {
		t.Errorf("%d messages", n)
	}
}

// Two of the same request at the same moment: one is mail.
func TestARepeatAtTheSameMomentIsOneMessage(t *testing.T) {
	d := webhookNewDesk(t)
	secret := d.allow(Sender{Name: "hub", Scheme: GitHub})
	var wg sync.WaitGroup
	codes := make([]int, 6)
	for i := range codes {
		wg.Go(func() { codes[i], _ = d.post("/?from=hub", "{}", hubHeader, signHub(secret, "{}")) })
	}
	wg.Wait()
	if n := strings.Count(fmt.Sprint(codes), "200"); n != len(codes) || len(d.mail("birch")) != 1 {
		t.Errorf("%v, %d messages", codes, len(d.mail("birch")))
	}
}

// Whoever has no key takes nothing from those who have one, and little of the log.
func TestManyWithoutAKeyKeepNobodyOut(t *testing.T) {
	d := webhookNewDesk(t)
	key := d.allow(Sender{Name: "ci"})
	secret := d.allow(Sender{Name: "hub", Scheme: GitHub})
	for i := range 100 {
		if code, _ := d.post("/?from=hub", "{}", hubHeader, fmt.Sprintf("sha256=%064x", i)); code != 401 {
			t.Fatalf("request %d: %d", i, code)
		}
	}
	d.want(200, "ok", "/", "x", "key", key)
	d.want(200, "ok", "/?from=hub", "{}", hubHeader, signHub(secret, "{}"))
	if n := strings.Count(d.log.String(), wrongSecret); n != int(perSender.Burst) {
		t.Errorf("%d lines", n)
	}
}

func FuzzSignatures(f *testing.F) {
	key := []byte("0123456789012345678901234567890a")
	at := time.Unix(1795321200, 0)
	f.Add("sha256=00", "msg", "1795321200", "v1,AAAA", []byte("{}"))
	f.Add(strings.ToUpper(signHub(string(key), "x")), "m.1", "+1795321200", "v1, v1,", []byte("x"))
	f.Fuzz(func(t *testing.T, hub, id, stamp, signatures string, body []byte) {
		h := map[string][]string{hubHeader: {hub}, "Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {signatures}}
		if _, why := ofGitHub(key, h, body); why == "" && !strings.EqualFold(hub, signHub(string(key), string(body))) {
			t.Fatalf("let in with %q", hub)
		}
		if _, why := ofStandard(key, h, body, at); why == "" {
			t.Fatalf("let in with %q %q %q", id, stamp, signatures) // nobody finds a MAC by chance
		}
	})
}

func TestTheListOfWhatWasSeenIsBounded(t *testing.T) {
	d := webhookNewDesk(t)
	secret := d.allow(Sender{Name: "hub", Scheme: GitHub})
	first := []string{hubHeader, signHub(secret, "{}")}
	d.want(200, "ok", "/?from=hub", "{}", first...)
	path := filepath.Join(d.dir.Path(), seenDir, "hub.log")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Repeat(strings.Repeat("0", 2*seenSize)+"\n", maxSeen/(2*seenSize+1)+1)); err != nil {
		t.Fatal(err)
	}
	d.want(200, "ok", "/?from=hub", "{ }", hubHeader, signHub(secret, "{ }"))
	if info, err := os.Stat(path); err != nil || info.Size() > 100 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.Remove(filepath.Join(d.b.Root(), "s-birch.inbox.json")); err != nil {
		t.Fatal(err)
	}
	d.want(200, "ok", "/?from=hub", "{}", first...)
	if n := len(d.mail("birch")); n != 0 {
		t.Errorf("%d messages: it was seen before", n)
	}
}
