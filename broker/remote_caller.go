package broker

import "errors"

// sidOfRemote gives the session of a caller of which this process is no part, as over HTTP: what the call says, then the
// session of an earlier call of the same connection, then the client's process, if that has one session. Our own
// environment and ancestors are somebody else's. Where nothing tells, it is a new session.
func (b *Broker) sidOfRemote(rows []row, c Caller) (string, error) {
	if c.ClientID != "" {
		// Another id is another session, whatever the process or the connection had before.
		return b.sidOfID(rows, c, clientID{c.Client, c.ClientID})
	}
	if sid, err := b.claimed(c); sid != "" || err != nil {
		return sid, err
	}
	if findSID(rows, c.Last) >= 0 {
		return c.Last, nil
	}
	if c.PID <= 0 {
		return "", nil
	}
	p, err := b.proc.find(c.PID)
	if err != nil {
		return "", nil // it has ended by now, or a sandbox hides it
	}
	sid, err := b.sidOfProcess(rows, p, c.Client)
	if errors.Is(err, ErrAmbiguous) {
		return "", nil // the process serves many sessions, and this connection is none of those that it has named
	}
	return sid, err
}
