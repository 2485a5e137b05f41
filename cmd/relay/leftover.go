package relay

import (
	"fmt"
	"strings"
	"time"

	"c2c/inbox/mail"
)

// Leftovers returns lines for a person: which parts of the mail between machines c2c uninstall
// leaves, and how to remove them.
func Leftovers(getenv func(string) string) (lines []string) {
	r, err := Open(getenv, false)
	if err != nil || r.Dir == nil {
		return nil
	}
	defer r.Close()
	say := func(format string, args ...any) {
		lines = append(lines, mail.Visible(fmt.Sprintf(format, args...), ""))
	}
	var names []string
	all, err := r.Hosts(time.Now).All()
	for _, h := range all {
		names = append(names, h.Name)
	}
	if err != nil {
		say("the list of paired machines stays: %v", err)
	} else if len(names) > 0 {
		say("paired machines stay, with the keys and the mail for them: %s; c2c relay remove NAME forgets a machine, and removes its line from authorized_keys", strings.Join(names, ", "))
	}
	path := AuthorizedKeys(getenv)
	data, err := readAuthorized(path)
	if n := strings.Count(string(data), " "+mark("")); err == nil && n > 0 {
		say("lines of c2c in %s stay: %d; each lets one machine start c2cd relay --stdio", path, n)
	}
	return lines
}
