package rooms

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// The loop guard of a room counts the agents that posts have woken since a person last posted
// there: a post that wakes five agents counts five. An agent on another machine counts as woken,
// because only its machine knows. A post that would exceed the limit is stored, but wakes no agent,
// unless the count is zero: so a person's post, which sets it to zero, lets at least one post
// through. After guardPause without a wake, a post may wake one agent again. The history has the
// count.

const (
	defaultWakes = 50
	guardPause   = 15 * time.Minute
)

// WakesVariable is the environment variable with the limit of wakes in a room while no person
// posts. The value 0 means no limit.
const WakesVariable = "C2C_ROOM_WAKES"

// LimitOf reads the limit from the environment, see owed.LimitOf.
func LimitOf(getenv func(string) string) int { return owed.LimitOf(getenv, WakesVariable) }

// guard counts the agents that the post wakes. If the room has had too many wakes, guard removes
// the agents from the post's targets.
func (p *posting) guard(last []Post) {
	if p.post.Person {
		return
	}
	before, stopped, woke := count(last)
	n, limit := 0, cmp.Or(p.draft.Limit, defaultWakes)
	p.post.Wakes, p.post.Stopped = before, stopped
	for _, m := range p.targets {
		if p.wakes(m) {
			n++
		}
	}
	switch {
	case n == 0:
		return
	case limit < 0 || before == 0 || before+n <= limit:
		p.post.Wakes, p.post.Stopped = before+n, ""
		return
	case n == 1 && p.b.Now().Sub(woke) >= guardPause:
		return
	}
	p.stopped, p.post.Stopped = true, cmp.Or(stopped, p.post.ID)
	p.targets = slices.DeleteFunc(p.targets, p.wakes)
	p.receipt.Note = fmt.Sprintf("it wakes no agent: posts have woken agents here, or gone to agents on other machines, %d times in %q since a person last spoke there, and the limit is %d. Tell your user: a post of your user lets the agents continue",
		before, p.room.Name, limit)
}

// count returns how often agents were woken in a room since a person last posted, the post at which
// the room was stopped, and the time of the last wake.
func count(last []Post) (wakes int, stopped string, woke time.Time) {
	counted := false
	for _, p := range last {
		if p.Person {
			break
		}
		if !counted {
			wakes, stopped, counted = p.Wakes, p.Stopped, true
		}
		if woke.IsZero() && slices.ContainsFunc(p.To, func(sid string) bool { return !isPerson(sid) }) {
			woke = p.Time()
		}
	}
	return wakes, stopped, woke
}

// tellStopped tells the person of this user that the room was stopped. It sends one message for
// each stop.
func (p *posting) tellStopped(ctx context.Context) {
	person := sessions.PersonPrefix + strconv.Itoa(os.Getuid())
	text := fmt.Sprintf("The agents in room %[1]s have woken each other %[2]d times since a person last spoke there, so their posts wake nobody now. Post there to let them go on: c2c send '#%[1]s' 'Go on.'",
		p.room.Name, p.post.Wakes)
	m := mail.Message{To: person, ID: owed.NoticeID("room-stopped", p.room.Name, p.post.Stopped), Content: text}
	if err := owed.SendNotice(ctx, p.b.Registry, person, m, "room-stopped"); err != nil {
		p.b.Log.Warn("nobody is told that a room is stopped", "room", p.room.Name, "err", err)
	}
}
