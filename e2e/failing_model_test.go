package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"c2c/broker"
	"c2c/e2e/lab"
	"c2c/sessions"
)

// failing is a model that fails while it has some mail to answer.
type failing struct {
	l    *lab.Lab
	c    lab.Client
	id   string // of the mail
	text string

	mu    sync.Mutex
	fails int           // requests with the mail that are still to fail; -1: all
	with  int           // the status of those
	hang  chan struct{} // or they wait until it is closed
	seen  []string      // what status said when one more came
}

// set makes requests fail from now on.
func (f *failing) set(text string, fails, with int, hang chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text, f.fails, f.with, f.hang, f.seen = text, fails, with, hang, nil
}

// state is what status says of the mail.
func (f *failing) state() string {
	out, err := f.l.Try(c2c(), "status", "--json", f.id)
	var st broker.MessageStatus
	if err == nil {
		err = json.Unmarshal([]byte(out), &st)
	}
	if err != nil {
		return err.Error() + out
	}
	if st.Receiver != nil && st.Receiver.Does == sessions.Busy {
		return st.State + " in a turn: " + st.Why
	}
	return st.State + ": " + st.Why
}

func (f *failing) answer(r *lab.Request) (lab.Reply, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	reply := readsMail(f.c, r)
	if f.text == "" || len(r.Find(f.text)) == 0 {
		return reply, true
	}
	f.seen = append(f.seen, f.state())
	if f.hang != nil {
		return reply.After(f.hang), true
	}
	if f.fails != 0 {
		f.fails--
		return lab.Fail(f.with), true
	}
	return reply, true
}

// requests are those that came with the mail.
func (f *failing) requests() (seen []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(seen, f.seen...)
}

// send sends mail to the client.
func (f *failing) send(text string) {
	f.id = "id-" + text
	f.l.Run(c2c(), "send", "amber", text, "--from", "birch", "--id", f.id)
}

// failed is what status says when the client has given up; Codex tells nobody.
func (is link) failed() string {
	if is.client == lab.Codex {
		return ""
	}
	return "its model failed"
}

// bodies counts the mail in a request by its body, and not by its id.
func bodies(r *lab.Request, body string) (n int) {
	for _, item := range r.Items {
		n += len(regexp.MustCompile(`[^-]`+body+`\b`).FindAllString(item.Text, -1))
	}
	return n
}

// None of the clients' models has read what no request that succeeded had. It is read with the next
// answer.
func TestReadIsNotSaidOfARequestThatFailed(t *testing.T) {
	for _, is := range ring {
		t.Run(string(is.client), func(t *testing.T) {
			t.Parallel()
			l, model := newLab(t), lab.NewModel(t)
			is.seed(l, model)
			l.Run(c2c(), "install", string(is.client))
			if is.client == lab.Codex {
				l.TrustCodexHooks()
			}
			l.Run(c2c(), "register", "birch", "--session-id", "birch")
			f := &failing{l: l, c: is.client}
			model.Answer(f.answer)
			p := startsAsAmber(l, model, is)
			isNotRead := func(what string) {
				t.Helper()
				for i, state := range append(f.requests(), f.state()) {
					if strings.HasPrefix(state, sessions.Read) {
						t.Errorf("%s: request %d: status says %s", what, i, state)
					}
				}
			}
			isRead := func(what string) {
				t.Helper()
				eventually(t, func() bool { return strings.HasPrefix(f.state(), sessions.Read) })
			}

			hang := make(chan struct{})
			f.set("mail-hang", 0, 0, hang)
			f.send("mail-hang")
			eventually(t, func() bool { return len(f.requests()) > 0 })
			isNotRead("the model hangs")
			close(hang)
			isRead("the model hung")

			// Clients try again by themselves.
			for _, with := range []int{500, lab.Hangup} {
				text := fmt.Sprintf("mail-with-%d", with)
				f.set(text, 2, with, nil)
				f.send(text)
				eventually(t, func() bool { return len(f.requests()) > 2 })
				for i, state := range f.requests()[:3] {
					if strings.HasPrefix(state, sessions.Read) {
						t.Errorf("it fails with %d: request %d: status says %s", with, i, state)
					}
				}
				isRead(text)
			}

			// They give up. The next request has the mail all the same; Gemini CLI drops it, and is
			// given it again.
			f.set("mail-400", -1, 400, nil)
			f.send("mail-400")
			eventually(t, func() bool {
				state := f.state()
				return len(f.requests()) > 0 && !strings.Contains(state, "in a turn: ") && strings.Contains(state, is.failed())
			})
			isNotRead("it fails with 400")
			f.set("mail-400", 0, 0, nil)
			if is.client == lab.OpenCode { // it starts no turn for what is submitted before its last one is over
				p.WaitShown("made to fail")
				p.WaitGone("interrupt")
				hooksSayIdle(l, "amber")
			}
			p.Submit("go on")
			isRead("mail-400")
			turns := model.Turns()
			last := turns[len(turns)-1]
			// Qwen Code repeats it by itself, and Kimi Code is shown once more what came as its turn ended.
			once := is.client != lab.Qwen && len(last.Find(": mail-400\nc2c: that came")) == 0
			if n := bodies(last, "mail-400"); n == 0 || once && n != 1 {
				t.Errorf("its model has the mail %d times:\n%s", n, last)
			}
		})
	}
}

// cleared has, for each client, the command that begins another conversation, what shows that it is
// there, and whether it has the mailbox of the one before.
var cleared = map[lab.Client]struct {
	command string
	ready   []string
	shares  bool
}{
	lab.Claude:   {"/clear", []string{"shift+tab to cycle", "? for shortcuts"}, true},
	lab.Codex:    {"/clear", []string{"OpenAI Codex"}, false},
	lab.OpenCode: {"/new", []string{"Ask anything"}, false},
	lab.Kimi:     {"/new", []string{"context: 0%"}, true},
	lab.Gemini:   {"/clear", []string{"Type your message"}, true},
	lab.Copilot:  {"/clear", []string{"? help"}, false},
	lab.Qwen:     {"/clear", []string{"Type your message"}, true},
}

// The model fails while it has mail, and the person begins another conversation. That has nothing
// of the mail: if it has the mailbox, it gets the mail, marked and once. No answer of it makes mail
// read that it did not get.
func TestAnotherConversationAfterAFailedModel(t *testing.T) {
	for _, is := range ring {
		t.Run(string(is.client), func(t *testing.T) {
			t.Parallel()
			l, model := newLab(t), lab.NewModel(t)
			is.seed(l, model)
			l.Run(c2c(), "install", string(is.client))
			if is.client == lab.Codex {
				l.TrustCodexHooks()
			}
			l.Run(c2c(), "register", "birch", "--session-id", "birch")
			f := &failing{l: l, c: is.client}
			model.Answer(f.answer)
			p := startsAsAmber(l, model, is)
			next := cleared[is.client]
			f.set("mail-lost", -1, 400, nil)
			if next.shares { // the mail comes with a prompt, and nothing rings
				l.Run(c2c(), "dnd", "on", "--session-id", "amber")
			}
			f.send("mail-lost")
			if next.shares {
				p.Submit("prompt-old")
			}
			eventually(t, func() bool {
				state := f.state()
				return len(f.requests()) > 0 && !strings.Contains(state, "in a turn: ") && strings.Contains(state, is.failed())
			})
			p.WaitShown("made to fail")
			clears(p, next.command, "made to fail", next.ready...)
			f.set("mail-lost", 0, 0, nil)
			p.Submit("prompt-new")
			r := model.WaitText("prompt-new")
			if !next.shares {
				p.WaitShown("Registered.")
				if state := f.state(); len(r.Find("mail-lost")) > 0 || !strings.HasPrefix(state, sessions.Handed) {
					t.Errorf("status says %s, and its model has\n%s", state, r)
				}
				return
			}
			eventually(t, func() bool { return strings.HasPrefix(f.state(), sessions.Read) })
			turns := model.Turns()
			last := turns[len(turns)-1]
			if n, marked := bodies(last, "mail-lost"), len(last.Find("shown_before")); n != 1 || marked != 1 || len(last.Find("prompt-old")) > 0 {
				t.Errorf("its model has the mail %d times, %d of them marked:\n%s", n, marked, last)
			}
		})
	}
}

// After some errors Qwen Code puts mail of its socket into its history again and again. It is given
// no more then.
func TestAQwenThatRepeatsItsMailIsNotFed(t *testing.T) {
	t.Parallel()
	is := ring[slices.IndexFunc(ring, func(l link) bool { return l.client == lab.Qwen })]
	l, model := newLab(t), lab.NewModel(t)
	is.seed(l, model)
	l.Run(c2c(), "install", "qwen")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	f := &failing{l: l, c: is.client}
	model.Answer(f.answer)
	startsAsAmber(l, model, is)
	f.set("mail-one", -1, 400, nil)
	f.send("mail-one")
	eventually(t, func() bool { return strings.Contains(f.state(), is.failed()) })
	l.Run(c2c(), "send", "amber", "mail-two", "--from", "birch", "--id", "id-two")
	eventually(t, func() bool { return strings.Contains(status(l, "id-two"), "repeats what comes over its socket") })
	for _, r := range model.Turns() {
		if len(r.Find("mail-two")) > 0 {
			t.Errorf("it was given more:\n%s", r)
		}
	}
	f.set("mail-one", 0, 0, nil)
	eventually(t, func() bool { return strings.HasPrefix(f.state(), sessions.Read) })
	wantRead(t, l, "id-two", "read by")
	onlyOnce(t, model.Turns(), "mail-two", "")
}
