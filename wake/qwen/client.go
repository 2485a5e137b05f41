package qwen

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/wake"
)

const name = "qwen"

func init() { wake.Register(wake.Client{Name: name, Ways: ways}) }

// ways returns Qwen Code's socket, which only an MCP server that the client has started can use.
func ways(p wake.RingContext, s wake.Session) (w wake.Ways, err error) {
	if !p.Inside {
		return w, nil
	}
	socket, err := FromEnv(p.Getenv)
	if err != nil {
		return w, err
	}
	profile, _ := client.Find(name)
	socket.Session = func() string { return profile.SessionOf(s.Process, p.Getenv) }
	quiet := ready(p.Failed, time.Now)
	w.Methods = []wake.Method{{Name: wake.BySocket, Doorbell: bell{socket, quiet}, Ready: quiet}}
	project := p.Getenv("QWEN_CODE_PROJECT_DIR")
	if project == "" {
		return w, nil // no record would show that a message has arrived
	}
	w.Methods[0].Carrier = &Carrier{Socket: socket, Chats: filepath.Join(project, "chats"),
		Failed: func() (at time.Time) {
			if p.Failed != nil {
				_, at = p.Failed()
			}
			return at
		},
		Held: func(ctx context.Context, msgs []mail.Message) {
			r := wake.Ring{At: time.Now(), Method: wake.BySocket, Outcome: wake.Held, Count: len(msgs), Cause: errHeld.Error()}
			p.Record(ctx, r.For(msgs[0]))
		}}
	return w, nil
}

// repeated: the client's hook reports why the model failed. If this reason begins with repeated,
// the client (0.24.4) adds the text from its socket to its history once more, and asks the model
// again. It does so several times a second, until the model answers.
const repeated = "invalid_request"

// pause is the time after such an error in which c2c sends nothing over the socket. A prompt of the
// person still brings the mail.
const pause = 15 * time.Minute

// ready returns a function that returns an error while the client may repeat the text from its
// socket. The argument failed is wake.RingContext.Failed.
func ready(failed func() (string, time.Time), now func() time.Time) func(context.Context) error {
	return func(context.Context) error {
		if failed == nil {
			return nil
		}
		why, at := failed()
		if !strings.HasPrefix(why, repeated) || now().Sub(at) > pause {
			return nil
		}
		return fmt.Errorf("%w: its model failed (%s), and Qwen Code repeats what comes over its socket until it answers: the next prompt brings the mail", wake.ErrHeld, why)
	}
}

// bell rings over the socket, while the client is ready.
type bell struct {
	socket wake.Doorbell
	ready  func(context.Context) error
}

// Ring implements wake.Doorbell.
func (b bell) Ring(ctx context.Context, n wake.Notice) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return b.socket.Ring(ctx, n)
}
