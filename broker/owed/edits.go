package owed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// EditsFile lists the latest edits of files that nobody has claimed. It is written only in a
// project with claims on other files.
const EditsFile = "edits.json"

const (
	editsKept = 10 * time.Minute
	maxEdits  = 500
)

// edit is the latest edit of a file by a session.
type edit struct {
	SID  string    `json:"session_id"`
	Path string    `json:"path"`
	At   time.Time `json:"at"`
}

// SawEdit records that a session edits a file that nobody has claimed. If another live session has
// edited the file in the last minutes, each of the two gets a notice about the other, once for each
// file.
func SawEdit(ctx context.Context, reg *sessions.Registry, s sessions.Session, path string) error {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return err
	}
	now := reg.Now().UTC()
	var others []sessions.Session
	edits := atomicfile.RecordsFile[edit]{Dir: reg.Dir(), Name: EditsFile, Lock: NotifyLock, Now: reg.Now, Log: reg.Log}
	err = edits.Change(ctx, func(all []edit) ([]edit, error) {
		all = slices.DeleteFunc(all, func(e edit) bool {
			return now.Sub(e.At) > editsKept || e.At.After(now) || e.SID == s.ID && e.Path == path
		})
		for _, e := range all {
			if i := sessions.FindSID(rows, e.SID); e.Path == path && i >= 0 {
				if other := reg.Session(rows[i]); other.State != sessions.Absent {
					others = append(others, other)
				}
			}
		}
		return append(all[max(0, len(all)-maxEdits):], edit{s.ID, path, now}), nil
	})
	for _, other := range others {
		err = errors.Join(err, tellEdited(ctx, reg, s, other, path), tellEdited(ctx, reg, other, s, path))
	}
	return err
}

func tellEdited(ctx context.Context, reg *sessions.Registry, to, other sessions.Session, path string) error {
	return SendNotice(ctx, reg, to.ID, mail.Message{To: to.Alias, ID: NoticeID("edited", to.ID, other.ID, path),
		Content: fmt.Sprintf("You and %s have both edited %s in the last minutes. Agree who goes on; that one runs c2c claim.", other.Alias, mail.Visible(filepath.Base(path), ""))}, "edited")
}

// WarnOfClaim sends the session s a notice that another session has claimed a file that s edits.
// The argument text says who, and advice says what to do. Each text is sent once.
func WarnOfClaim(ctx context.Context, reg *sessions.Registry, s sessions.Session, text, advice string) error {
	if s.ID == "" {
		return nil
	}
	return SendNotice(ctx, reg, s.ID, mail.Message{To: s.Alias, ID: NoticeID("claimed", s.ID, text), Content: text + advice}, "claimed")
}
