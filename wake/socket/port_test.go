package socket

import (
	"errors"
	"strings"
	"testing"

	"c2c/internal/proc"
	"c2c/wake"
)

func TestAPortOfAnotherUserIsRefused(t *testing.T) {
	// As proc(5) has it: port 4999 is 1387.
	line := func(address, state, uid string) string {
		return "   0: " + address + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000 " + uid + " 0 1 1 0\n"
	}
	for name, c := range map[string]struct {
		table []string
		ours  bool
	}{
		"ours":              {[]string{line("0100007F:1387", "0A", "1000")}, true},
		"ours, on all":      {[]string{line("00000000:1387", "0A", "1000")}, true},
		"another's":         {[]string{line("0100007F:1387", "0A", "1001")}, false},
		"another's as well": {[]string{line("00000000:1387", "0A", "1000"), line("0100007F:1387", "0A", "1001")}, false},
		"another port":      {[]string{line("0100007F:1388", "0A", "1000")}, false},
		"a connection":      {[]string{line("0100007F:1387", "01", "1000")}, false},
		"half a line":       {[]string{"   0: 0100007F:1387 00000000:0000 0A"}, false},
		"nobody":            {nil, false},
	} {
		table := "  sl  local_address rem_address   st\n" + strings.Join(c.table, "")
		err := ourPort(proc.TCPIn(strings.NewReader(table), 4999), 4999, 1000, true)
		if (err == nil) != c.ours || err != nil && !errors.Is(err, wake.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
		if err := ourPort(proc.TCPIn(strings.NewReader(table), 4999), 4999, 1000, false); (err == nil) != (name == "ours") {
			t.Errorf("%s, where the sockets of other users cannot be seen: %v", name, err)
		}
	}
}
