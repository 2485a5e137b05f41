package claims

import (
	"context"
	"fmt"
	"path/filepath"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// These texts follow the text of Holders. They tell a model what to do about a file that another
// session has claimed.
const (
	Refuses = "This project refuses edits of files that others have claimed: write to the holder with c2c, or work elsewhere."
	Allows  = "Nothing stops you: agree with the holder with c2c first, unless your user wants it now."
	Edited  = "You have edited it" + agree
	Tried   = "You have edited it, or tried to" + agree
	agree   = ": agree with the holder with c2c before you go on, unless your user wants it now."
)

// mostHolders bounds how many claims on one file a model sees.
const mostHolders = 3

// Holders returns a text that names the other sessions with claims on the files that a session
// edits, and "" if there is none. If quotes is false, the text leaves out the words that the
// holders wrote. refused is true if the project refuses the edit. Holders also records edits of
// files that nobody has claimed.
func Holders(ctx context.Context, reg *sessions.Registry, s sessions.Session, paths []string, quotes bool) (text string, refused bool, err error) {
	for _, path := range paths {
		held, err := Held(ctx, reg, s.ID, path)
		if err != nil {
			return "", false, err
		}
		if len(held) == 0 && s.ID != "" {
			if err := owed.SawEdit(ctx, reg, s, path); err != nil {
				return "", false, err
			}
		}
		for i, h := range held {
			// A work tree may refuse edits of its own files, but not of the files of another work
			// tree.
			refused = refused || h.Worktree == Worktree(filepath.Dir(path)) && refuses(h.Worktree)
			if i < mostHolders {
				text += said(h, path, quotes)
			}
		}
	}
	return text, refused, nil
}

// said returns a sentence that says who has claimed a file.
func said(h Claim, path string, quotes bool) string {
	since := h.At.Local().Format("15:04")
	if !quotes {
		return fmt.Sprintf("%s has claimed %s since %s; c2c claims says why. ", h.Alias, mail.Message{Content: path}.FirstWords(200), since)
	}
	return fmt.Sprintf("%s has claimed %s%s since %s. ", h.Alias, h.Shown(), Reason(h), since)
}
