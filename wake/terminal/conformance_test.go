package terminal

import (
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/waketest"
	"c2c/wake"
)

func TestTerminal(t *testing.T) {
	waketest.Run(t, waketest.Adapter{
		Idle: func(t *testing.T) waketest.Client {
			d := sitAtDesk(t, calm)
			return waketest.Client{Bell: d.term, Next: func() string {
				d.entered.Scan()
				text, err := strconv.Unquote(strings.TrimPrefix(d.entered.Text(), "entered "))
				if err != nil {
					t.Fatalf("%v: %q", err, d.entered.Text())
				}
				return text
			}}
		},
		Gone: waketest.Bells{
			"it has ended": func(t *testing.T) wake.Doorbell {
				d := sitAtDesk(t, hasty)
				d.term.Abandon()
				<-d.over
				return d.term
			},
		},
		Deaf: waketest.Bells{
			"a dialog": func(t *testing.T) wake.Doorbell {
				d := sitAtDesk(t, hasty)
				d.press("d", "2. No")
				return d.term
			},
			"it ignores a paste": func(t *testing.T) wake.Doorbell {
				d := sitAtDesk(t, hasty)
				d.press("g", "❯ ")
				return d.term
			},
		},
	})
}
