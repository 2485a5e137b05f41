package e2e

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/e2e/lab"
)

// A burst is so much mail, each up to burstGap ms behind the one before. The model thinks up to
// quick at first, and up to slow when it has read half of it.
const (
	burstMail = 60
	burstGap  = 500
	quick     = 400 * time.Millisecond
	slow      = 3 * time.Second
)

// Mail comes while the client is idle, while its model thinks, and between the two. All of it is in
// the conversation once, in its order, and nothing sticks in a prompt.
func TestABurstOfMailIsReadOnceAndInOrder(t *testing.T) {
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
			script := burstScript(rand.New(rand.NewPCG(7, uint64(len(is.client)))))
			random := rand.New(rand.NewPCG(8, uint64(len(is.client)))) // the model's alone
			model.Answer(func(r *lab.Request) (lab.Reply, bool) {
				most, thinks := quick, make(chan struct{})
				if len(burstSeen(r)) >= burstMail/2 {
					most = slow
				}
				time.AfterFunc(most/10+time.Duration(random.Int64N(int64(most*9/10))), func() { close(thinks) })
				return readsMail(is.client, r).After(thinks), true
			})
			startsAsAmber(l, model, is)
			l.Run("sh", "-c", script)
			eventually(t, func() bool {
				turns := model.Turns()
				return slices.Contains(burstSeen(turns[len(turns)-1]), fmt.Sprintf("burst-%03d", burstMail-1))
			})
			turns := model.Turns()
			var want []string
			for i := range burstMail {
				want = append(want, fmt.Sprintf("burst-%03d", i))
			}
			if got := burstSeen(turns[len(turns)-1]); !slices.Equal(got, want) {
				t.Errorf("the model has read %d of %d: %q", len(got), len(want), got)
			}
		})
	}
}

// burstScript sends the mail of a burst.
func burstScript(random *rand.Rand) string {
	var script strings.Builder
	for i := range burstMail {
		fmt.Fprintf(&script, "sleep 0.%03d; %s send amber burst-%03d --from birch >/dev/null || exit 1\n", random.IntN(burstGap), c2c(), i)
	}
	return script.String()
}

// startsAsAmber starts a client with that alias. One that is typed into runs under c2c start.
func startsAsAmber(l *lab.Lab, model *lab.Model, is link) (p *lab.Proc) {
	switch is.client {
	case lab.Kimi:
		p = l.Terminal(l.KimiEnv(), c2c(), "start", "--alias", "amber", "kimi")
		p.WaitShown("context: ")
	case lab.Gemini:
		p = l.Terminal(l.GeminiEnv(model), c2c(), "start", "--alias", "amber", "gemini", "--", "--yolo")
		p.WaitShown("Type your message")
		p.TypeSlowly()
		hooksSayIdle(l, "amber")
	default:
		p = is.start(l, model)
		p.Submit("take your name")
		p.WaitShown("Registered.")
		if is.client == lab.Qwen { // else the hook at the end of this turn may bring the mail that follows
			hooksSayIdle(l, "amber")
		}
	}
	return p
}

// readsMail is what a model answers that reads its mail and does nothing else.
func readsMail(c lab.Client, r *lab.Request) lab.Reply {
	switch last := r.Last(); {
	case len(r.Find("take your name")) > 0 && !called(r, "me"):
		return register(c, "amber")
	case last.Role == "user" && strings.Contains(last.Text, "message_pending") && len(burstIn(last.Text)) == 0:
		return lab.CallMCP(c, "c2c", "poll_inbox", map[string]any{})
	case len(burstSeen(r)) == 0:
		return lab.Say("Registered.")
	}
	return lab.Say(fmt.Sprintf("Noted %d.", len(r.Items))) // the same words again and again are a loop for Gemini CLI, which then asks its person
}

// burstID finds mail as a message. A client's person may be told of it once more, in other words.
var burstID = regexp.MustCompile(`(?:\n|\\n|"content":\\?"|>|&gt;)\s*(burst-\d{3})`)

func burstIn(text string) (ids []string) {
	for _, m := range burstID.FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// burstSeen gives the mail that stands in a request, in its order.
func burstSeen(r *lab.Request) (seen []string) {
	for _, item := range r.Items {
		seen = append(seen, burstIn(item.Text)...)
	}
	return seen
}
