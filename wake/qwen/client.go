package qwen

import (
	"context"
	"path/filepath"
	"time"

	"c2c/broker/client"
	"c2c/inbox"
	"c2c/wake"
)

const name = "qwen"

// Client is how Qwen Code is woken. Its socket belongs to the server that the client has started.
func Client() wake.Client { return wake.Client{Name: name, Ways: ways, Peers: newPeers} }

func ways(p wake.Place, s wake.Session) (w wake.Ways, err error) {
	if !p.Inside {
		return w, nil
	}
	socket, err := FromEnv(p.Getenv)
	if err != nil {
		return w, err
	}
	profile, _ := client.Find(name)
	socket.Session = func() string { return profile.SessionOf(s.Process, p.Getenv) }
	w.Methods = []wake.Method{{Name: wake.BySocket, Doorbell: socket}}
	project := p.Getenv("QWEN_CODE_PROJECT_DIR")
	if project == "" {
		return w, nil // nothing would tell that a message has arrived
	}
	w.Methods[0].Carrier = &Carrier{Socket: socket, Chats: filepath.Join(project, "chats"),
		Held: func(ctx context.Context, msgs []inbox.Message) {
			r := wake.Ring{At: time.Now(), Method: wake.BySocket, Outcome: wake.Held, Count: len(msgs), Cause: errHeld.Error()}
			p.Record(ctx, r.For(msgs[0]))
		}}
	return w, nil
}
