package callers

import (
	"errors"
	"fmt"

	"c2c/sessions"
)

// sidOfRemote returns the session of a caller in another process, for example over HTTP. This is
// the session that the call names; otherwise the session of an earlier call on the same connection;
// otherwise the only session of the client's process. Our own environment and ancestors mean
// nothing for such a caller. If nothing identifies a session, sidOfRemote returns "", and the
// caller gets a new session.
func sidOfRemote(reg *sessions.Registry, rows []sessions.Row, c Caller) (string, error) {
	if c.User != nil {
		return sidOfRemotePerson(reg, rows, c)
	}
	if c.ClientID != "" {
		// A new id means another session, even if the process or the connection had a session
		// before.
		return sidOfID(reg, rows, c, clientID{c.Client, c.ClientID})
	}
	if sid, err := claimed(reg, c); sid != "" || err != nil {
		return sid, err
	}
	if sessions.FindSID(rows, c.Last) >= 0 {
		return c.Last, nil
	}
	if c.PID <= 0 {
		return "", nil
	}
	p, err := reg.Processes.Find(c.PID)
	if err != nil {
		return "", nil // the process has ended, or a sandbox hides it
	}
	sid, err := sidOfProcess(reg, rows, p, c.Client)
	if errors.Is(err, sessions.ErrAmbiguous) {
		return "", nil // the process serves many sessions, and nothing shows which of them has this connection
	}
	return sid, err
}

// sidOfRemotePerson returns the session of a person who has logged in on the web page. The handler
// of the page has checked the login. The session was made at a terminal, and this terminal must be
// in our PID namespace.
func sidOfRemotePerson(reg *sessions.Registry, rows []sessions.Row, c Caller) (string, error) {
	sid := c.User.sid()
	if c.Client != "" || c.ClientID != "" || c.Claimed != "" || c.Last != "" || c.Explicit != "" || c.PID != 0 {
		return "", fmt.Errorf("session %q belongs to a person, and no program may use it", sid)
	}
	if !isPersonsNamespace(reg, rows, sid) {
		return "", fmt.Errorf("find out who is calling: %w: the person's terminal is in another PID namespace than c2c serve", sessions.ErrNoSession)
	}
	return sid, nil
}
