package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"c2c/broker/notice"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/registry"
)

// EditsFile has the latest edits of files that nobody has claimed, in a project with claims.
const EditsFile = "edits.json"

const (
	editsKept = 10 * time.Minute
	maxEdits  = 500
)

// edit is the last time when a session was about to edit a file.
type edit struct {
	SID  string    `json:"session_id"`
	Path string    `json:"path"`
	At   time.Time `json:"at"`
}

// SawEdit records that a session edits a file that nobody has claimed. If another live session has edited the file in the last
// minutes, both get a notice, once for each file.
func SawEdit(ctx context.Context, reg *sessions.Registry, s sessions.Session, path string) error {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return err
	}
	now := reg.Now().UTC()
	var others []sessions.Session
	err = filelock.With(ctx, reg.Dir(), LockName, func() error {
		data, err := reg.Dir().ReadIf(EditsFile)
		var all []edit
		if err == nil && data != nil && json.Unmarshal(data, &all) != nil {
			all = nil // it holds the last minutes alone
		}
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(e edit) bool {
			return now.Sub(e.At) > editsKept || e.At.After(now) || e.SID == s.ID && e.Path == path
		})
		for _, e := range all {
			if i := registry.FindSID(rows, e.SID); e.Path == path && i >= 0 {
				if other := reg.Session(rows[i]); other.State != sessions.Absent {
					others = append(others, other)
				}
			}
		}
		all = append(all[max(0, len(all)-maxEdits):], edit{s.ID, path, now})
		data, err = json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		return reg.Dir().Replace(EditsFile, append(data, '\n'))
	})
	for _, other := range others {
		err = errors.Join(err, tellEdited(ctx, reg, s, other, path), tellEdited(ctx, reg, other, s, path))
	}
	return err
}

func tellEdited(ctx context.Context, reg *sessions.Registry, to, other sessions.Session, path string) error {
	return notice.Send(ctx, reg, to.ID, mail.Message{To: to.Alias, ID: notice.ID("edited", to.ID, other.ID, path),
		Content: fmt.Sprintf("You and %s have both edited %s in the last minutes. Agree who goes on; c2c claim tells others.", other.Alias, mail.Visible(filepath.Base(path), ""))}, "edited")
}
