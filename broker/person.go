package broker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"c2c/broker/client"
)

// User is a person at a terminal, who has a mailbox in each root that no agent can be given.
type User struct {
	UID   int
	Login string // what the mailbox is called at first, if it is a free alias
}

const personPrefix = "person-"

func (u *User) sid() string { return personPrefix + strconv.Itoa(u.UID) }

// isPersonID says whether a session id is reserved for a person, in any case: some file systems know none.
func isPersonID(sid string) bool {
	uid, ok := strings.CutPrefix(fold(sid), personPrefix)
	return ok && uid != "" && strings.Trim(uid, "0123456789") == ""
}

// clientHuman is the original's client_type of somebody at a terminal.
const clientHuman = "human"

func isPerson(r row) bool { return isPersonID(r.sid()) || r.text("client_type") == clientHuman }

// firstAlias is what the mailbox of a person is called when it is made.
func (u *User) firstAlias(rows []row) string {
	alias := u.Login
	if CheckAlias(alias) != nil {
		alias = u.sid()
	}
	if len(holders(rows, alias)) > 0 {
		alias = freeAlias(rows, alias)
	}
	return alias
}

// isUser says whether nothing but the person can be calling: no agent has left its mark in the environment.
func (c Caller) isUser() bool {
	return c.User != nil && c.Client == "" && !slices.ContainsFunc(client.All(), func(p client.Profile) bool { return c.believed(p) != "" })
}

// mayBe refuses a person's session to everybody else.
func (b *Broker) mayBe(rows []row, sid string, c Caller) error {
	if !isPersonID(sid) {
		return nil
	}
	// A variable is inherited, and so no proof that a person calls.
	if c.isUser() && c.User.sid() == sid && c.PID == 0 && c.env("C2C_MCP_SESSION_ID") == "" {
		if near, err := b.nearestAncestor(rows); err == nil && near == "" {
			return nil
		}
	}
	return fmt.Errorf("session %q belongs to a person, and no agent may use it", sid)
}
