package relayed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"c2c/broker"
	"c2c/broker/explain"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/relay/cache"
	"c2c/sessions"
)

// mostFollowed bounds the messages of other hosts that a root follows until they are read. The relay reports no more states of
// older ones.
const mostFollowed = 2000

// followed holds the messages of other hosts that a root has stored since the relay's start, and that were unread at the last look.
type followed struct {
	b *broker.Broker

	mu    sync.Mutex
	all   []*arrived
	marks map[string]string // by session: the state of its files at the last look
}

// arrived is one followed message.
type arrived struct {
	peer, sid string // its host, and the session whose mailbox has it
	from, id  string
	state     string // the last reported one, or ""
}

func (f *followed) add(peer, sid string, msgs []mail.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range msgs {
		if m.Kind != mail.KindSystem {
			f.all = append(f.all, &arrived{peer: peer, sid: sid, from: m.FromSession, id: m.ID})
		}
	}
	f.all = slices.Clone(f.all[max(len(f.all)-mostFollowed, 0):])
	delete(f.marks, sid)
}

// look gives the messages' changes of state since the last look, by host, and the sessions to watch for more.
func (f *followed) look(ctx context.Context) (news map[string][]cache.State, sids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news = map[string][]cache.State{}
	changed := map[string]bool{}
	for _, a := range f.all {
		if _, seen := changed[a.sid]; !seen {
			mark := markOf(f.b.Root(), "archive/"+a.sid+".jsonl", "sessions/"+a.sid+".json", a.sid+".inbox.json")
			changed[a.sid] = f.marks[a.sid] != mark
			f.marks[a.sid] = mark
			sids = append(sids, a.sid)
		}
	}
	f.all = slices.DeleteFunc(f.all, func(a *arrived) bool {
		if !changed[a.sid] {
			return false
		}
		st, there := f.stateOf(ctx, a)
		if there && st.State != a.state && (st.State == sessions.Handed || st.State == sessions.Read) {
			a.state = st.State
			ago := 0.0
			if !st.At.IsZero() {
				ago = max(0, f.b.Now().Sub(st.At).Seconds())
			}
			news[a.peer] = append(news[a.peer], cache.State{ID: a.id, Session: localSession(a.peer, a.from), What: st.State, By: st.By, At: ago})
		}
		return !there || st.State == sessions.Read
	})
	return news, sids
}

// localSession is the sending host's own id of the session, "" if it was too long to be kept.
func localSession(peer, from string) string {
	sid, _ := strings.CutPrefix(from, "r-"+peer+".")
	return sid
}

func (f *followed) stateOf(ctx context.Context, a *arrived) (st explain.MessageStatus, there bool) {
	box, err := f.b.Mailbox(a.sid)
	if err != nil {
		return st, false
	}
	found, err := box.FindAll(ctx, a.id)
	i := slices.IndexFunc(found, func(one inbox.Found) bool { return one.Message.FromSession == a.from })
	if err != nil || i < 0 {
		return st, err != nil // after an error, look again later
	}
	return explain.Status(f.b.Registry, a.id, a.sid, found[i]), true
}

// markOf is a text that changes whenever one of the files changes.
func markOf(root string, names ...string) (mark string) {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(root, name)); err == nil {
			mark += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return mark
}
