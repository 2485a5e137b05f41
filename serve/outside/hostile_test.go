package outside

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"c2c/broker/owed"
	"c2c/sessions"
)

func TestSoManyRequestsAreReadBeforeTheirSenderIsKnown(t *testing.T) {
	d := webhookNewDesk(t)
	secret := d.allow(Sender{Name: "hub", Scheme: GitHub})
	token := d.allow(Sender{Name: "ci"})
	for range maxUnproven {
		d.half()
	}
	d.want(503, "too many requests at once", "/?from=hub", "{}", hubHeader, signHub(secret, "{}"))
	d.want(200, "ok", "/", "a build", "Authorization", "Bearer "+token)
}

// half begins a request whose body never ends, and returns when the server reads that.
func (d *webhookDesk) half() net.Conn {
	d.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /?from=hub HTTP/1.1\r\nHost: %s\r\n%s: sha256=00\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
		strings.TrimPrefix(d.url, "http://"), hubHeader)
	goOn := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(conn, goOn); err != nil { // it is written when the handler reads
		d.t.Fatal(err)
	}
	return conn
}

// Thousands of bad signatures at once let nobody in, and the good one passes meanwhile.
func TestManyBadSignatures(t *testing.T) {
	d := webhookNewDesk(t)
	secret := d.allow(Sender{Name: "hub", Scheme: GitHub})
	n := 500
	if os.Getenv("C2C_TORTURE") != "" {
		n = 10_000
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range n / 8 {
				body := fmt.Sprint(worker, i)
				if code, _ := d.post("/in/birch?from=hub", body, hubHeader, signHub(secret, body+"x")); code != 401 {
					t.Errorf("a bad signature: %d", code)
				}
			}
		})
	}
	for i := range int(perSender.Burst) {
		d.want(200, "ok", "/?from=hub", fmt.Sprint("good ", i), hubHeader, signHub(secret, fmt.Sprint("good ", i)))
	}
	wg.Wait()
	if n := len(d.mail("birch")); n != int(perSender.Burst) {
		t.Errorf("%d messages", n)
	}
}

func TestAProjectThatIsGoneIsTold(t *testing.T) {
	d := webhookNewDesk(t)
	key, err := d.list.Allow(t.Context(), Sender{Name: "old", Root: filepath.Join(t.TempDir(), "gone"), To: []string{"birch"}})
	if err != nil {
		t.Fatal(err)
	}
	d.want(503, "cannot be opened", "/", "x", "key", key)
	if !strings.Contains(d.log.String(), "sender=old") {
		t.Errorf("logged %s", d.log.String())
	}
}

// A list that is damaged lets nobody in, and the log says why.
func TestADamagedListIsLogged(t *testing.T) {
	d := webhookNewDesk(t)
	key := d.allow(Sender{Name: "ci"})
	if err := os.WriteFile(filepath.Join(d.dir.Path(), "senders.json"), []byte("[{}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.want(401, "", "/", "x", "key", key)
	if log := d.log.String(); !strings.Contains(log, "no sender outside can write") || !strings.Contains(log, "senders.json") || strings.Contains(log, key) {
		t.Errorf("logged %s", log)
	}
}

// Two robots: the one outside is told that it has to stop.
func TestAStormIsToldToTheSender(t *testing.T) {
	d := webhookNewDesk(t)
	for err, status := range map[error]int{owed.ErrTooManyAnswers: 429, errOtherBody: 409, errors.New("disk"): 500, &sessions.UnknownAliasError{Alias: "x"}: 404} {
		h := NewHooks(HooksConfig{Senders: d.list, Files: d.dir})
		if no := h.refusalOf(fmt.Errorf("send: %w", err)); no.status != status || strings.Contains(no.text, "disk") {
			t.Errorf("%v is %+v", err, no)
		}
	}
}

// Whatever a body is, it is refused or becomes a letter that says no more and no less.
func FuzzLetter(f *testing.F) {
	for _, body := range []string{`{"text":"hi","kind":"task"}`, `{"content":"\ud800","tag":"fail"}`, "{\"te\\u0078t\":\"a\"}", `{"text":"a","TEXT":"b"}`, "yes abcde", "[]", "payload=%7B%7D", "\x00", "{"} {
		f.Add([]byte(body), "application/json", "", false)
	}
	f.Fuzz(func(t *testing.T, body []byte, media, kind string, signed bool) {
		q := &request{sender: Sender{Name: "ci", To: []string{"birch"}}, to: "birch", path: "/", media: media, body: body, query: map[string]string{"kind": kind}}
		if signed {
			q.sender.Scheme, q.proof, q.event = GitHub, "github 00", kind
		}
		l, err := q.letter()
		if err != nil {
			if no := new(refusal); !errors.As(err, &no) || no.status != 400 {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if !utf8.ValidString(l.Content) && utf8.Valid(body) && !signed || l.To != "birch" || l.From != "" || strings.TrimSpace(l.Content) == "" {
			t.Fatalf("%q became %+v", body, l)
		}
		if signed && (l.ID != idOf(q.sender, q.proof) || l.InReplyTo != "") {
			t.Fatalf("%q: %+v", body, l)
		}
		if err := l.SetOrigin(l.Origin); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
	})
}
