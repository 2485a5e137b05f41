package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

const factsDirectory = "sessions" // of the files, in a root

// FactStore has the facts of all sessions of an open root. It does not close the root.
type FactStore struct {
	root *atomicfile.Dir
	now  func() time.Time
	log  inbox.Log
	dir  *atomicfile.Dir  // the open directory of the files; nil: each read opens it again
	seen map[string]Facts // cache of a store that Glance made; nil: each call reads the file again
}

// Glance returns a store that reads each file only once.
func (st *FactStore) Glance() *FactStore {
	return &FactStore{root: st.root, now: st.now, log: st.log, seen: map[string]Facts{}}
}

// Hold returns a store that keeps its directory open until Release, for the facts of many sessions.
func (st *FactStore) Hold() *FactStore {
	held := *st
	held.dir, _ = st.Dir() // after an error dir is nil: each read opens the directory again, and Of logs the error
	return &held
}

// Release closes the directory that Hold has opened.
func (st *FactStore) Release() {
	if st.dir != nil {
		st.dir.Close()
	}
}

// Dir opens the directory of the files.
func (st *FactStore) Dir() (*atomicfile.Dir, error) { return st.root.Sub(factsDirectory, true) }

// Read reads the facts of a session. It is no error if the session has none.
func (st *FactStore) Read(sid string) (f Facts, err error) {
	if st.dir != nil {
		return ReadFactsIn(st.dir, sid)
	}
	dir, err := st.Dir()
	if err != nil {
		return f, err
	}
	defer dir.Close()
	return ReadFactsIn(dir, sid)
}

// ReadFactsIn reads the facts of a session from the directory that Dir opened. The error is
// ErrDamaged if the file is damaged or not ours.
func ReadFactsIn(dir *atomicfile.Dir, sid string) (f Facts, err error) {
	data, err := dir.Read(sid + ".json")
	switch {
	case err == nil:
		if err = f.parse(data); err == nil {
			f.stored = true
			return f, nil
		}
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case !errors.Is(err, atomicfile.ErrNotOurs) && !errors.Is(err, atomicfile.ErrTooLarge) && !errors.Is(err, fs.ErrPermission):
		return f, err
	}
	return Facts{}, fmt.Errorf("read facts of session %q: %w: %w", sid, ErrDamaged, err)
}

// Of is like Read, for callers that can go on without facts, because the registry alone identifies
// a session. After an error, Of logs the error and returns empty facts.
func (st *FactStore) Of(sid string) Facts {
	if f, known := st.seen[sid]; known || !mail.ValidName(sid) {
		return f // f is empty if the id is not valid: another program has written the row
	}
	f, err := st.Read(sid)
	if err != nil {
		st.log.Warn("facts of a session are unreadable", "session", sid, "err", err)
	}
	if st.seen != nil {
		st.seen[sid] = f
	}
	return f
}

// Change edits sessions/<sid>.json under its lock.
func (st *FactStore) Change(ctx context.Context, sid string, edit func(*Facts)) error {
	dir, err := st.Dir()
	if err != nil {
		return err
	}
	defer dir.Close()
	return atomicfile.WithLock(ctx, dir, sid+".lock", func() error {
		f, err := ReadFactsIn(dir, sid)
		if errors.Is(err, ErrDamaged) {
			// These facts may be lost: the registry identifies the session, and the next call of
			// Broker.Attach writes facts again.
			aside := sid + ".json.corrupt-" + strconv.FormatInt(st.now().UnixMicro(), 10)
			st.log.Error("facts of a session were damaged", "session", sid, "kept_as", aside, "err", err)
			err = dir.Rename(sid+".json", aside)
		}
		if err != nil {
			return err
		}
		before, _ := f.text()
		edit(&f)
		after, err := f.text()
		if err != nil {
			return err
		}
		if bytes.Equal(before, after) {
			return dir.RemoveLeftover(sid + ".json") // nothing changed: avoid the fsync
		}
		return dir.Replace(sid+".json", after)
	})
}

// openID opens the index of client ids, and returns the file name for one id. It returns an error
// if client and id make no valid file name.
func (st *FactStore) openID(client, id string) (ids *atomicfile.Dir, name string, err error) {
	name = client + "." + id
	if client == "" || !mail.ValidName(id) || !mail.ValidName(name) || atomicfile.IsTemp(name) {
		return nil, "", fmt.Errorf("session id %q of client %q: c2c takes 1 to 128 characters of A-Z a-z 0-9 . _ -", id, client)
	}
	ids, err = st.ids()
	return ids, name, err
}

func (st *FactStore) ids() (*atomicfile.Dir, error) {
	dir, err := st.Dir()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Sub("ids", true)
}

// SidOf returns the session to which a client's own id belongs; "" if c2c has never seen this id.
func (st *FactStore) SidOf(client, id string) (string, error) {
	ids, name, err := st.openID(client, id)
	if err != nil {
		return "", err
	}
	defer ids.Close()
	data, err := ids.ReadIf(name)
	if err != nil || data == nil {
		return "", err
	}
	sid, whole := strings.CutSuffix(string(data), "\n")
	if !whole || !mail.ValidName(sid) {
		return "", fmt.Errorf("read sessions/ids/%s: %q is not a session id", name, data)
	}
	return sid, nil
}

// BindID records that a client's own id belongs to a session.
func (st *FactStore) BindID(client, id, sid string) error {
	ids, name, err := st.openID(client, id)
	if err != nil {
		return err
	}
	defer ids.Close()
	if data, err := ids.Read(name); err == nil && string(data) == sid+"\n" {
		return nil
	}
	return ids.Replace(name, []byte(sid+"\n"))
}

// LastFactsChange returns the time of the last write to the facts of a session, or the argument
// latest if that is later or dir is nil.
func LastFactsChange(dir *atomicfile.Dir, sid string, latest time.Time) time.Time {
	if dir == nil {
		return latest
	}
	for _, name := range []string{sid + ".json", sid + ".lock"} {
		if info, err := dir.Stat(name); err == nil && info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	return latest
}

// SetConversation records the conversation to which a session's user wrote last. A client's process
// may have several conversations.
func (st *FactStore) SetConversation(ctx context.Context, sid, id string) error {
	if err := mail.CheckName("conversation id", id); err != nil {
		return err
	}
	return st.Change(ctx, sid, func(f *Facts) { f.Conversation = id })
}

// maxUnseen bounds the list Unseen.
const maxUnseen = 50

// ChangeUnseen edits the list of messages that must still be shown to a session's user: it removes
// the ids in told, and adds the ids in unseen. Hooks of one session may call it at the same time.
func (st *FactStore) ChangeUnseen(ctx context.Context, sid string, told, unseen []string) error {
	if len(told)+len(unseen) == 0 {
		return nil
	}
	return st.Change(ctx, sid, func(f *Facts) {
		left := slices.DeleteFunc(f.Unseen, func(id string) bool { return slices.Contains(told, id) })
		left = append(left, unseen...)
		f.Unseen = left[max(0, len(left)-maxUnseen):]
	})
}
