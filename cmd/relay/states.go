package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/relay"
	"c2c/relay/cache"
	"c2c/sessions"
)

const (
	// mostFollowed bounds the messages from other hosts that a root follows until they are read.
	// The relay reports no states of older messages any more.
	mostFollowed = 2000
	// followedFile has a line for each followed message, and another line for each message that is
	// not followed any more. It is in the root's directory of the relay. A power cut may lose its
	// last lines.
	followedFile = "followed.log"
	maxFollowed  = 4 << 20
	// lockedPause is the pause after a mailbox was locked. Without the pause each try would cause
	// the next one: a try closes the lock file, and the relay watches that file. After the pause,
	// the relay tries again when it next checks everything, at most a minute later.
	lockedPause = 30 * time.Second
)

// followed holds messages from other hosts that this root has stored, and that were unread at the
// last call of look. The file followedFile keeps them when the relay restarts.
type followed struct {
	b   *broker.Broker
	dir *atomicfile.Dir

	mu     sync.Mutex
	all    []*arrived
	size   int                  // number of lines in the file
	locked map[string]time.Time // by session: its mailbox was locked, so do not try again before this time; only look uses this field
}

// arrived is one followed message.
type arrived struct {
	Peer string `json:"host"`
	SID  string `json:"sid"` // the session whose mailbox has the message
	From string `json:"from_session"`
	ID   string `json:"id"`
	Over bool   `json:"over,omitempty"` // the message is not followed any more

	state string // the last reported state, or ""
	mark  string // the state of the session's files at the last check; "": check again
}

func (a *arrived) key() string { return strings.Join([]string{a.Peer, a.SID, a.From, a.ID}, "\x00") }

// follow returns the messages that an earlier relay has followed, to follow them further.
func follow(b *broker.Broker) (*followed, error) {
	dir, err := b.Dir().Sub(relay.Directory, true)
	if err != nil {
		return nil, err
	}
	f := &followed{b: b, dir: dir, locked: map[string]time.Time{}}
	data, err := dir.ReadMost(followedFile, maxFollowed)
	if err = atomicfile.UnlessAbsent(err); err != nil { // if the file is damaged or not ours, begin with no messages
		b.Log.Warn("messages of other hosts are not followed any more", "err", err)
		data = nil
	}
	at := map[string]*arrived{}
	for line := range strings.Lines(string(data)) {
		f.size++
		a := &arrived{}
		if json.Unmarshal([]byte(line), a) != nil || !mail.ValidName(a.SID) {
			continue
		}
		if at[a.key()] == nil {
			at[a.key()] = a
			f.all = append(f.all, a)
		}
		at[a.key()].Over = a.Over
	}
	f.all = slices.DeleteFunc(f.all, func(a *arrived) bool { return a.Over })
	f.shorten()
	return f, nil
}

func (f *followed) close() { f.dir.Close() }

// add follows messages that were stored in the mailbox of a session.
func (f *followed) add(peer, sid string, msgs []mail.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.all)
	for _, m := range msgs {
		if m.Kind != mail.KindSystem {
			f.all = append(f.all, &arrived{Peer: peer, SID: sid, From: m.FromSession, ID: m.ID})
		}
	}
	f.write(f.all[n:])
	f.shorten()
}

// write adds lines to the file. After an error, the relay follows these messages only until it
// ends.
func (f *followed) write(some []*arrived) {
	if len(some) == 0 {
		return
	}
	if err := f.dir.Log(followedFile, linesOf(some)); err != nil {
		f.b.Log.Warn("messages are not followed after a restart", "err", err)
	}
	f.size += len(some)
}

func linesOf(some []*arrived) (lines []byte) {
	for _, a := range some {
		line, _ := json.Marshal(a) // it has only texts, so this never fails
		lines = append(append(lines, line...), '\n')
	}
	return lines
}

// shorten forgets the oldest messages if there are too many. It writes the file again when most of
// its lines are of no use.
func (f *followed) shorten() {
	f.all = slices.Clone(f.all[max(len(f.all)-mostFollowed, 0):])
	if f.size <= 2*len(f.all)+mostFollowed {
		return
	}
	if err := f.dir.Write(followedFile, linesOf(f.all)); err != nil {
		f.b.Log.Warn("a file was not shortened", "file", followedFile, "err", err)
		return
	}
	f.size = len(f.all)
}

// look returns the messages' changes of state since the last call, by host, and the sessions to
// watch for further changes. It leaves out hosts for which the function linked returns false,
// because the relay keeps no states for them.
func (f *followed) look(ctx context.Context, linked func(peer string) bool) (news map[string][]cache.HeardState, sids []string) {
	f.mu.Lock()
	changed := f.changed(linked)
	f.mu.Unlock()
	found := map[string][]broker.MessageStatus{}
	for sid, some := range changed { // without mu: the lock of a mailbox may be held, and meanwhile mail for other sessions must be stored
		sids = append(sids, sid)
		if len(some) == 0 {
			continue
		}
		all, err := f.find(ctx, sid, some)
		if err != nil {
			f.b.Log.Warn("the states of messages could not be read", "session_id", sid, "err", err)
		}
		if delete(f.locked, sid); errors.Is(err, atomicfile.ErrLockTimeout) && ctx.Err() == nil {
			f.locked[sid] = f.b.Now().Add(lockedPause)
		}
		found[sid] = all
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	news = map[string][]cache.HeardState{}
	var over []*arrived
	for sid, states := range found {
		for i, a := range changed[sid] {
			if states == nil {
				a.mark = "" // then the next call reads the message again, even if no file changes
				continue
			}
			st, there := states[i], states[i].State != ""
			if there && st.State != a.state && (st.State == sessions.Handed || st.State == sessions.Read) {
				a.state = st.State
				ago := 0.0
				if !st.At.IsZero() {
					ago = max(0, f.b.Now().Sub(st.At).Seconds())
				}
				news[a.Peer] = append(news[a.Peer], cache.HeardState{ID: a.ID, Session: strings.TrimPrefix(a.From, "r-"+a.Peer+"."), What: st.State, By: st.By, At: ago})
			}
			if a.Over = !there || st.State == sessions.Read; a.Over {
				over = append(over, a)
			}
		}
	}
	f.all = slices.DeleteFunc(f.all, func(a *arrived) bool { return a.Over })
	f.write(over)
	return news, sids
}

// changed returns all sessions with followed messages. For a session whose files have changed, it
// also returns the messages from linked hosts, which must be checked again.
func (f *followed) changed(linked func(peer string) bool) map[string][]*arrived {
	all, marks, up := map[string][]*arrived{}, map[string]string{}, map[string]bool{}
	for _, a := range f.all {
		if _, seen := marks[a.SID]; !seen {
			marks[a.SID] = markOf(f.b.Root(), "archive/"+a.SID+".jsonl", "sessions/"+a.SID+".json", a.SID+".answered", a.SID+".inbox.json")
			all[a.SID] = nil
		}
		if _, asked := up[a.Peer]; !asked {
			up[a.Peer] = linked(a.Peer)
		}
		if up[a.Peer] && a.mark != marks[a.SID] && !f.b.Now().Before(f.locked[a.SID]) {
			a.mark = marks[a.SID]
			all[a.SID] = append(all[a.SID], a)
		}
	}
	return all
}

// find returns the states of some messages in the mailbox of a session. A message that is not there
// has the zero state.
func (f *followed) find(ctx context.Context, sid string, some []*arrived) ([]broker.MessageStatus, error) {
	ctx, end := context.WithTimeout(ctx, sessions.KeepWait) // a suspended process may hold the mailbox's lock for days
	defer end()
	box, err := f.b.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(some))
	for i, a := range some {
		ids[i] = a.ID
	}
	found, err := box.FindAll(ctx, ids...)
	if err != nil {
		return nil, err
	}
	all := make([]broker.MessageStatus, len(some))
	for i, a := range some {
		at := slices.IndexFunc(found, func(one inbox.Found) bool { return one.Message.ID == a.ID && one.Message.FromSession == a.From })
		if at >= 0 {
			all[i] = broker.StatusOf(f.b.Registry, a.ID, sid, found[at])
		}
	}
	return all, nil
}

// markOf returns a text that changes whenever one of the files changes.
func markOf(root string, names ...string) (mark string) {
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil {
			mark += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return mark
}
