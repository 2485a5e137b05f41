package broker

import (
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/relay/cache"
	"c2c/sessions"
)

// MayBeGone is how long nothing must have come from a machine that makes the connection, until c2c
// also says when it was last seen.
const MayBeGone = 5 * time.Minute

// HostSentence describes whether mail can get to another machine now.
func HostSentence(h cache.HeardHost, now time.Time) string {
	is, seen, ago := " was ", "not reached yet", now.Sub(mail.FromSeconds(h.Seen))
	if h.Seen > 0 {
		seen = "last seen " + format.Age(ago) + " ago"
	}
	switch {
	case h.Linked && h.Hub: // the hub takes mail, even if the machine is off
		if is = " is reached by hub; "; h.Seen == 0 {
			seen = "not heard from yet"
		}
	case h.Linked && !h.Dials && h.Seen > 0 && ago >= MayBeGone: // the machine may have gone to sleep since then
		is = " is linked; "
	case h.Linked:
		is, seen = " is ", "linked"
	}
	if h.Absent {
		seen += "; nobody has used c2c in this project there yet"
	}
	return h.Name + is + seen
}

// Lister finds out the states of many messages. It reads the reports of each machine only once.
type Lister struct {
	reg     *sessions.Registry
	reports map[string]cache.HeardReports // by machine
}

func NewLister(reg *sessions.Registry) *Lister {
	return &Lister{reg, map[string]cache.HeardReports{}}
}

// reportsOf returns the reports of a machine.
func (l *Lister) reportsOf(host string) cache.HeardReports {
	all, ok := l.reports[host]
	if !ok {
		var err error
		if all, err = cache.ReadHeardReports(l.reg.Dir(), host); err != nil {
			l.reg.Log.Warn("reports of another machine cannot be read", "host", host, "err", err)
		}
		l.reports[host] = all
	}
	return all
}

// remoteStatus finds out how far a message for another machine has come. While the message is in
// the outbox, it waits here. Later, only the reports of the other machine tell more.
func (l *Lister) remoteStatus(st *MessageStatus, found inbox.Found) {
	st.Host = strings.TrimPrefix(st.SessionID, sessions.HostPrefix)
	st.State, st.At, st.By = sessions.Queued, found.Message.Time().UTC(), ""
	if found.Where != inbox.Archived || found.By != inbox.ByRelay {
		return
	}
	st.StoredThere = found.At.UTC()
	progress := []string{sessions.Queued, sessions.Handed, sessions.Read} // in the order in which a message gets them
	m := found.Message
	for _, r := range l.reportsOf(st.Host).Of(st.ID) {
		// If the sender chose the message id, m has FromSession, and the report must name the same
		// session: another session may have chosen the same id. Otherwise c2c made the id, and the
		// session in the report does not count.
		own := m.FromSession == "" || r.Session == m.FromSession || r.Session == mail.ShortSession(m.FromSession)
		if own && slices.Index(progress, r.What) > slices.Index(progress, st.State) {
			st.State, st.At, st.By = r.What, mail.FromSeconds(r.At).UTC(), r.By
		}
	}
}

func isUnpaired(reg *sessions.Registry, host string) bool {
	if reg.Paired == nil {
		return false
	}
	paired, err := reg.Paired()
	return err == nil && !slices.Contains(paired, host)
}

// tellRemote completes the status of a message to another machine: it adds the history, and the
// reason why the message waits.
func tellRemote(reg *sessions.Registry, st *MessageStatus) {
	now := reg.Now()
	at := func(t time.Time) string { return " at " + format.Clock(t, now) }
	if st.StoredThere.IsZero() {
		host, err := cache.HeardFrom(reg.Dir(), st.Host)
		if err != nil {
			reg.Log.Warn("facts about a host cannot be read", "host", st.Host, "err", err)
		}
		host.Name = st.Host
		why, do := HostSentence(host, now), ""
		switch {
		case isUnpaired(reg, st.Host):
			why = st.Host + " is not paired any more, or revoked"
			do = "pair it again by this name: c2c relay add --as NAME (if it is revoked, c2c relay remove it before); or write to another session"
		case host.Absent && host.Relayed:
			do = "on that machine, start a session in this project, or type c2c poll-inbox"
		case !host.Linked:
			do = "c2c relay status shows whether the relay runs, and the last error of ssh"
		}
		if host.Trouble != "" {
			why += "; trouble" + at(mail.FromSeconds(host.TroubleAt)) + ": " + host.Trouble
		}
		st.Why, st.Do = why, do
		return
	}
	st.Way = append(st.Way, "stored at "+st.Host+at(st.StoredThere))
	switch st.State {
	case sessions.Queued:
		st.Why = st.Host + " has not reported that it was read"
	case sessions.Handed:
		st.Way = append(st.Way, "handed there"+at(st.At)+byMethod(st.By)+", and its model has not answered since")
	case sessions.Read:
		st.Way = append(st.Way, "read there"+at(st.At)+byMethod(st.By))
	}
}
