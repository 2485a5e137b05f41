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

// Client is how Qwen Code is woken. Its socket belongs to the server that the client has started.
func Client() wake.Client { return wake.Client{Name: name, Ways: ways, Peers: newPeers} }

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
		return w, nil // nothing would tell that a message has arrived
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

// repeated is the error, as its hook tells it, after which the client puts what came over its socket into its history once more,
// and asks its model again, several times a second, until that answers (0.24.4; so it does without c2c).
const repeated = "invalid_request"

// pause is how long nothing more is given to a client that may do that. A prompt brings its mail all the same.
const pause = 15 * time.Minute

// ready fails while the client may repeat what comes over its socket. failed is wake.RingContext.Failed.
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

// bell is the socket, while the client is ready.
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
