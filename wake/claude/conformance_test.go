package claude

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"c2c/e2e/waketest"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
)

// taking drops a text that it has had already, as Claude Code does for 30 seconds.
func taking(t *testing.T) waketest.Client {
	s, lines := listener(t)
	had := map[string]bool{}
	next := func() string {
		for {
			<-lines // which authenticates
			var line struct{ Message struct{ Content string } }
			if err := json.Unmarshal([]byte(<-lines), &line); err != nil {
				t.Fatal(err)
			}
			if text := line.Message.Content; !had[text] {
				had[text] = true
				return text
			}
		}
	}
	return waketest.Client{Bell: s, Next: next}
}

// alone is a client's socket that something has changed.
func alone(change func(s *Socket) error) func(*testing.T) wake.Doorbell {
	return func(t *testing.T) wake.Doorbell {
		s, _ := listen(t)
		if err := change(s); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func dead(t *testing.T) wake.Doorbell {
	s, l := listen(t)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSocket(t *testing.T) {
	waketest.Run(t, waketest.Adapter{
		Idle: taking, Shows: mail.Message.InlineEnvelope,
		Gone: waketest.Bells{
			"its socket is gone":             alone(func(s *Socket) error { return os.Remove(s.Path) }),
			"others may write to its folder": alone(func(s *Socket) error { return os.Chmod(filepath.Dir(s.Path), 0o777) }),
			"it has died":                    dead,
			"a file":                         alone(func(s *Socket) error { return errors.Join(os.Remove(s.Path), os.WriteFile(s.Path, nil, 0o600)) }),
			"a link": alone(func(s *Socket) error {
				return errors.Join(os.Rename(s.Path, s.Path+"-"), os.Symlink(s.Path+"-", s.Path))
			}),
		},
		Deaf: waketest.Bells{
			"it would drop the next": alone(func(s *Socket) error {
				for s.bucket.Take(limit, start) {
				}
				return nil
			}),
		},
		Carrier: func(bell wake.Doorbell, box *inbox.Mailbox, root string) wake.Carrier {
			return &Carrier{Socket: bell.(*Socket), Box: box}
		},
	})
}
