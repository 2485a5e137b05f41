package terminal

import (
	"os"
	"strings"
	"testing"

	"c2c/e2e/waketest"
	"c2c/wake"
)

func TestDoorbell(t *testing.T) {
	changed := func(change func(b *PaneDoorbell)) func(*testing.T) wake.Doorbell {
		return func(t *testing.T) wake.Doorbell {
			b := newLab(t).bell()
			change(b)
			return b
		}
	}
	told := func(order string) func(*testing.T) wake.Doorbell {
		return func(t *testing.T) wake.Doorbell {
			l := newLab(t)
			l.say(order)
			return l.bell()
		}
	}
	waketest.Run(t, waketest.Adapter{
		Idle: func(t *testing.T) waketest.Client {
			l, taken := newLab(t), 0
			return waketest.Client{Bell: l.bell(), Next: func() string {
				r := l.say("sync")
				if taken++; len(r.Lines) != taken || r.Loose != "" || r.Approved != 0 {
					t.Fatalf("the client got %+v", r)
				}
				return r.Lines[taken-1]
			}}
		},
		Gone: waketest.Bells{
			"another process": changed(func(b *PaneDoorbell) { b.Process = os.Getpid() }),
			"no such pane":    changed(func(b *PaneDoorbell) { b.Pane.ID = strings.Replace(b.Pane.ID, "0", "7", 1) }),
			"no such server":  changed(func(b *PaneDoorbell) { b.Pane.Socket = strings.Replace(b.Pane.Socket, "/tmux", "/ctl", 1) + "0" }),
			"no program": changed(func(b *PaneDoorbell) {
				b.Getenv = func(string) string { return "" }
			}),
			"it has ended": func(t *testing.T) wake.Doorbell {
				l := newLab(t)
				b := l.bell()
				l.conn.Close()
				gone(t, b.Process)
				return b
			},
		},
		Deaf: waketest.Bells{
			"a dialog":       told("mode dialog"),
			"Enter in vain":  told("mode deaf"),
			"it reads lines": told("cook"),
		},
	})
}
