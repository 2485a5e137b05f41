package live

import (
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// awaited has two times of a session: when the latest mail that the model must still answer was
// handed over (handed), and when the model gave the latest answer that this View has reported
// (told).
type awaited struct{ handed, told time.Time }

// answers reports which of the given sessions have a model that has answered since the last report.
func (v *View) answers(sids []string) {
	for _, sid := range sids {
		is, awaits := v.awaits[sid]
		if !awaits {
			continue
		}
		last, told := sessions.LastAnswer(v.b.Registry, sid)
		if !told { // nothing reports the answers of this session, so count the mail as answered
			last = time.Now()
		}
		if last.After(is.told) {
			v.event(Event{What: Answers, SessionID: sid, At: last})
			v.awaits[sid] = awaited{is.handed, last}
		}
		if last.After(is.handed) {
			delete(v.awaits, sid)
		}
	}
}

// archived turns e into the event of a message that was handed over, and found is in the archive.
func (v *View) archived(e Event, found inbox.Found) Event {
	at := found.At
	e.What, e.At, e.Awaits = Archived, at, sessions.Unanswered(v.b.Registry, e.SessionID, found)
	if e.State, e.Answered = sessions.StateOf(v.b.Registry, e.SessionID, found); e.Awaits {
		is := v.awaits[e.SessionID]
		v.awaits[e.SessionID] = awaited{later(is.handed, at), is.told}
	}
	return e
}

// mailboxes lists the mailboxes that have files. It forgets all other mailboxes.
func (v *View) mailboxes() (map[string]bool, error) {
	there, err := inbox.Sessions(v.b.Dir())
	if err != nil {
		return nil, err
	}
	for sid := range v.boxes {
		if !there[sid] {
			delete(v.boxes, sid)
		}
	}
	return there, nil
}

// lookInto reads the changes in a mailbox. If it cannot read the mailbox, it reports a Damaged
// event.
func (v *View) lookInto(sid string) {
	box, known := v.boxes[sid]
	if !known {
		m, err := v.b.Mailbox(sid)
		if err != nil {
			return // sid is not a valid session id
		}
		box = m.Observe(v.begun)
		v.boxes[sid] = box
	}
	v.watch(sid + ".lease")
	queued, handed, _ := box.Counts()
	steps, err := box.Look()
	if err != nil {
		v.event(Event{What: Damaged, SessionID: sid, At: time.Now(), Why: err.Error()})
		return
	}
	for _, step := range steps {
		v.step(sid, step)
	}
	if now, inHand, _ := box.Counts(); queued+handed > 0 && now+inHand == 0 {
		v.stale = true // the list also shows whether old mail must still be moved into this mailbox
	}
}

// step makes events from a change in the state of a message.
func (v *View) step(sid string, s inbox.Step) {
	e := Event{At: s.At, SessionID: sid, Fingerprint: s.Fingerprint, Message: s.Message, By: s.By, Why: s.Why, Before: !v.begun}
	if s.What == inbox.Damaged {
		e.What, e.At = Damaged, time.Now()
		v.event(e)
		return
	}
	moved := v.isElsewhere(sid, s)
	if s.First && !moved {
		stored := e
		stored.What, stored.By, stored.At = Stored, "", s.Message.Time()
		if s.Message.TS == 0 {
			stored.At = time.Now() // the tools of the OCaml c2c store messages without a time
		}
		v.event(stored)
	}
	if sessions.IsHostID(sid) { // an outbox of the relay: report no reader, because the relay reads it, and the receiver is on another machine
		if s.What == inbox.Archived || s.What == inbox.Gone {
			v.markDone(s.Fingerprint)
		}
		return
	}
	switch s.What {
	case inbox.Archived:
		e = v.archived(e, inbox.Found{Where: s.What, At: s.At, By: s.By})
		if i := v.find(sid); i >= 0 && v.begun {
			v.sessions[i].LastRead = s.At.UTC()
		}
		v.markDone(s.Fingerprint)
	case inbox.Leased:
		e.What = Leased
	case inbox.Waiting:
		if e.What = Back; s.First {
			return
		}
		e.At = time.Now()
	case inbox.Gone: // the message was moved or swept: the other mailbox or the dead letters report it
		v.markDone(s.Fingerprint)
		if !s.Message.Ephemeral || moved {
			return
		}
		if e.What, e.State, e.At = Archived, sessions.Read, time.Now(); e.By == inbox.ByEvents {
			e.State = sessions.Handed
		}
	}
	v.event(e)
}

// isElsewhere reports whether the message was reported before, in another mailbox. It returns false
// for a message without an id, which may therefore be reported twice.
func (v *View) isElsewhere(sid string, s inbox.Step) bool {
	if s.Message.IsUnnamed() {
		return false
	}
	if v.done[s.Fingerprint] && s.What != inbox.Gone {
		return true
	}
	for other, box := range v.boxes {
		if other != sid && box.Has(s.Fingerprint) {
			return true
		}
	}
	return false
}

// markDone records a message that has left a mailbox, so that it is not reported again. v.done
// keeps only the last maxDone messages.
func (v *View) markDone(t mail.Fingerprint) {
	if v.done[t] {
		return
	}
	v.done[t] = true
	if v.order = append(v.order, t); len(v.order) > maxDone {
		delete(v.done, v.order[0])
		v.order = v.order[1:]
	}
}
