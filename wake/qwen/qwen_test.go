package qwen

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/e2e/waketest"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
)

// stub is a stand-in for Qwen Code with one session.
type stub struct {
	t      *testing.T
	socket *Socket
	chats  string
	says   func(n int) []string // what it says of the message with this number, in order
	taken  chan string
	auth   chan string

	mu     sync.Mutex
	slow   bool // it keeps the connections open
	proves bool
	queued []string // that it has not written down yet
}

// start makes one that takes each message and writes none of them down.
func start(t *testing.T) *stub {
	t.Helper()
	dir, err := os.MkdirTemp("", "qs-") // a socket's path is at most 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &stub{t: t, chats: t.TempDir(), taken: make(chan string, 100), auth: make(chan string, 100)}
	c.says = func(int) []string { return []string{delivered} }
	c.socket = &Socket{Path: filepath.Join(dir, "7.sock"), Token: "t0ken", Session: func() string { return "s-1" }}
	c.write(`{"type":"user","message":{"parts":[{"text":"a prompt"}]}}`)
	l, err := net.Listen("unix", c.socket.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.take(conn, n)
		}
	}()
	return c
}

// take reads one message, and says what has become of it.
func (c *stub) take(conn net.Conn, n int) {
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 1<<20)
	var auth struct{ Type, Token string }
	var line struct {
		MsgID, From, ReplyToken, ToSessionID string
		Message                              struct{ Content string }
	}
	in.Scan()
	err := json.Unmarshal(in.Bytes(), &auth)
	in.Scan()
	if err = errors.Join(err, json.Unmarshal(in.Bytes(), &line)); c.slow {
		c.t.Cleanup(func() { conn.Close() })
	} else {
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		return // a connection that was given up
	}
	c.auth <- auth.Type + " " + auth.Token + " " + line.ToSessionID
	for _, status := range c.says(n) {
		c.answer(line.From, line.ReplyToken, line.MsgID, status)
	}
	c.mu.Lock()
	c.queued = append(c.queued, line.Message.Content)
	c.mu.Unlock()
	c.prove(false)
	c.taken <- line.Message.Content
}

func (c *stub) answer(to, token, id, status string) {
	conn, err := net.Dial("unix", to)
	if err != nil {
		return // nobody waits for it any more
	}
	defer conn.Close()
	fmt.Fprintf(conn, `{"msgV":1,"type":"auth","token":%q}`+"\n"+`{"msgV":1,"msgId":"x","type":"control","action":"delivery_status","status":%q,"origMsgId":%q}`+"\n",
		token, status, id)
}

// prove writes down what was taken; on says that it does so from now on.
func (c *stub) prove(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proves = c.proves || on; !c.proves {
		return
	}
	for _, text := range c.queued {
		data, err := json.Marshal("<cross_session_message from=\"x\">\n" + strings.ReplaceAll(text, "<", "&lt;") + "\n</cross_session_message>")
		if err != nil {
			c.t.Error(err)
		}
		c.write(`{"type":"user","subtype":"notification","message":{"role":"user","parts":[{"text":` + string(data) + `}]}}`)
	}
	c.queued = nil
}

func (c *stub) write(line string) {
	f, err := os.OpenFile(filepath.Join(c.chats, "s-1.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		c.t.Error(err)
	}
}

func (c *stub) carrier() *Carrier {
	return &Carrier{Socket: c.socket, Chats: c.chats, Held: func(context.Context, []mail.Message) {}}
}

// says makes clients that say this and nothing else.
func says(status ...string) func(*testing.T) wake.Doorbell {
	return func(t *testing.T) wake.Doorbell {
		c := start(t)
		c.says = func(int) []string { return status }
		return c.socket
	}
}

// alone is a client's socket that something has changed.
func alone(change func(s *Socket) error) func(*testing.T) wake.Doorbell {
	return func(t *testing.T) wake.Doorbell {
		c := start(t)
		if err := change(c.socket); err != nil {
			t.Fatal(err)
		}
		return c.socket
	}
}

func TestSocket(t *testing.T) {
	byBell := map[wake.Doorbell]*stub{}
	var mu sync.Mutex
	waketest.Run(t, waketest.Adapter{
		Idle: func(t *testing.T) waketest.Client {
			c := start(t)
			mu.Lock()
			defer mu.Unlock()
			byBell[c.socket] = c
			return waketest.Client{Bell: c.socket, Next: func() string { return <-c.taken }, Receipt: func() { c.prove(true) }}
		},
		Gone: waketest.Bells{
			"its socket is gone":             alone(func(s *Socket) error { return os.Remove(s.Path) }),
			"others may write to its folder": alone(func(s *Socket) error { return os.Chmod(filepath.Dir(s.Path), 0o777) }),
			"a file":                         alone(func(s *Socket) error { return errors.Join(os.Remove(s.Path), os.WriteFile(s.Path, nil, 0o600)) }),
			"it has no session":              alone(func(s *Socket) error { s.Session = func() string { return "" }; return nil }),
		},
		Deaf: waketest.Bells{
			"it says nothing":        says(),
			"it drops the message":   says(dropped),
			"it is another session":  says(misaddressed),
			"it lets nobody write":   says(refused),
			"its person says no":     says(held, denied),
			"nobody has accepted it": says(held, expired),
		},
		Carrier: func(bell wake.Doorbell, _ *inbox.Mailbox, root string) wake.Carrier {
			mu.Lock()
			defer mu.Unlock()
			if c := byBell[bell]; c != nil {
				return c.carrier()
			}
			return &Carrier{Socket: bell.(*Socket), Chats: root, Held: func(context.Context, []mail.Message) {}}
		},
	})
}

func letter(id, body string) mail.Message {
	return mail.Message{From: "birch", To: "amber", Content: body, ID: id, TS: 1.5}
}

// The client shows its model neither the tools of c2c nor its instructions before the model
// searches for them.
func TestTheModelReadsHowToAnswer(t *testing.T) {
	c := start(t)
	c.prove(true)
	if _, err := c.carrier().Carry(t.Context(), []mail.Message{letter("m-1", "hello")}); err != nil {
		t.Fatal(err)
	}
	if got := <-c.taken; !strings.HasPrefix(got, "<c2c ") || !strings.HasSuffix(got, "</c2c>\n"+mail.HowToAnswer+"\n") {
		t.Errorf("the model reads %q", got)
	}
}

func TestAMessageIsSentWithTheTokenAndToTheSession(t *testing.T) {
	c := start(t)
	c.prove(true)
	if had, err := c.carrier().Carry(t.Context(), []mail.Message{letter("m-1", "one"), letter("m-2", "two")}); err != nil || len(had) != 2 {
		t.Errorf("had %q, %v", had, err)
	}
	if got := <-c.auth; got != "auth t0ken s-1" {
		t.Errorf("its lines begin with %q", got)
	}
}

// Delivered is queued: the model need not have it for hours.
func TestAQueuedMessageIsNotGivenUp(t *testing.T) {
	c := start(t)
	c.says = func(int) []string { return []string{held, delivered} }
	var told []string
	carrier := c.carrier()
	carrier.Held = func(_ context.Context, msgs []mail.Message) { told = append(told, msgs[0].ID) }
	time.AfterFunc(200*time.Millisecond, func() { c.prove(true) })
	had, err := carrier.Carry(t.Context(), []mail.Message{letter("m-1", "one")})
	if err != nil || len(had) != 1 || len(told) > 1 {
		t.Errorf("had %q, %v, told %q", had, err, told)
	}
}

// On a loaded machine it reads its socket late. Who gave the message up then would show it twice.
func TestASlowClientHasItsMessageOnce(t *testing.T) {
	c := start(t)
	c.slow = true
	c.prove(true)
	if had, err := c.carrier().Carry(t.Context(), []mail.Message{letter("m-1", "one")}); err != nil || len(had) != 1 {
		t.Errorf("had %q, %v", had, err)
	}
}

func TestWhatAClientSaysIsAnOutcome(t *testing.T) {
	for status, want := range map[string]string{refused: wake.Refused, denied: wake.Refused, held: wake.Held, dropped: wake.Uncaptured,
		misaddressed: wake.Uncaptured, expired: wake.Uncaptured, delivered: wake.Rang} {
		err := says(status)(t).Ring(t.Context(), wake.Notice{Count: 1, From: []string{"birch"}, Oldest: "m-1"})
		if got := wake.OutcomeOf(err); got != want {
			t.Errorf("%s: %s (%v), want %s", status, got, err, want)
		}
	}
}

// Whoever guesses the address of the answers has not the token.
func TestAReceiptOfOthersIsNone(t *testing.T) {
	p, err := newOutgoing()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	receipt := `{"type":"control","action":"delivery_status","status":"delivered","origMsgId":"` + p.id + `"}` + "\n"
	for _, lines := range []string{receipt, `{"type":"auth","token":"x"}` + "\n" + receipt, "{\n", `{"type":"auth","token":"` + p.token + `"}` + "\n" +
		strings.Replace(receipt, p.id, "other", 1)} {
		if p.read(strings.NewReader(lines)); p.last() != "" {
			t.Errorf("%s is taken", lines)
		}
	}
	p.read(strings.NewReader(`{"type":"auth","token":"` + p.token + `"}` + "\n" + receipt))
	p.read(strings.NewReader(`{"type":"auth","token":"` + p.token + `"}` + "\n" + strings.Replace(receipt, "delivered", "held", 1)))
	if p.last() != delivered {
		t.Errorf("it says %q", p.last())
	}
}

func TestTheRecordIsReadFromWhereItWas(t *testing.T) {
	c, m := start(t), letter("m-1", "a < b &amp; \"c\"\n")
	c.queued = []string{m.Envelope()}
	c.prove(true) // long ago
	session := "s-1"
	r := &record{dir: c.chats, session: func() string { return session }}
	if err := r.skip(); err != nil {
		t.Fatal(err)
	}
	look := func(what string, want int) {
		t.Helper()
		if shown, err := r.newlyShown([]mail.Message{m}); err != nil || len(shown) != want {
			t.Errorf("%s: %d, %v", what, len(shown), err)
		}
	}
	look("what was there", 0)
	c.write(`{"type":"user","message":{"parts":[{"text":"\"notification\" &lt;c2c` + `"}]}}`)
	look("a prompt", 0)
	c.queued = []string{m.Envelope()}
	c.prove(true)
	look("it", 1)
	look("it, again", 0)
	session = "s-2"
	look("a session without a record", 0)
	if r.exists {
		t.Error("it is there")
	}
}

func FuzzARecordIsNoProofOfAnother(f *testing.F) {
	f.Add([]byte(`{"type":"user","subtype":"notification","message":{"parts":[{"text":"x"}]}}` + "\n"))
	f.Add([]byte("{\"subtype\":\"notification\"\n\n[]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "s-1.jsonl"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		r := &record{dir: dir, session: func() string { return "s-1" }}
		m := letter("m-1", "a body that nobody guesses")
		if shown, err := r.newlyShown([]mail.Message{m}); err != nil || len(shown) > 0 && !strings.Contains(string(data), "nobody guesses") {
			t.Errorf("%d shown, %v", len(shown), err)
		}
	})
}
