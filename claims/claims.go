// Package claims keeps which session works on which files or tasks. A claim is advice: c2c warns a session that edits a claimed
// file, and refuses the edit only in a project that asks for that.
//
// claims.json in the root has the claims, under claims.lock. It exists only while there is a claim, so a project without claims pays
// nothing. A claim holds while its session lives: its client's process, or the kernel's lock of its server, shows that. So a claim is
// free at once when its holder is killed. The entry stays for Grace: a session that comes back within it has its claim again, unless
// another one has taken it. Any process may call this package at any time.
package claims

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"c2c/inbox/mail"
	"c2c/inbox/records"
	"c2c/sessions"
	"c2c/sessions/registry"
)

const (
	FileName = sessions.ClaimsFile
	LockName = "claims.lock"

	// Grace is how long the claim of a session that is gone is kept for its return.
	Grace = 10 * time.Minute

	maxClaims = 1000
	maxWords  = 200  // bytes of a task or a reason
	maxPath   = 4096 // bytes of a path, as in Linux
)

// Claim is a path or a task that a session works on.
type Claim struct {
	SID      string    `json:"session_id"`
	Alias    string    `json:"alias"`
	Path     string    `json:"path,omitempty"` // absolute, without links; it may have the signs of a pattern: * ? [ **
	File     string    `json:"file,omitempty"` // device and inode of a claimed file, which a rename does not change
	Task     string    `json:"task,omitempty"`
	Why      string    `json:"why,omitempty"`
	Worktree string    `json:"worktree,omitempty"`
	At       time.Time `json:"at"`
	Gone     time.Time `json:"gone,omitzero"` // since when its session was seen to be gone
}

// What returns the claimed path, below its worktree, or the task.
func (c Claim) What() string {
	if c.Path == "" {
		return c.Task
	}
	if rest, below := strings.CutPrefix(c.Path, c.Worktree+"/"); c.Worktree != "" && below {
		return rest
	}
	return c.Path
}

// Shown is What as a short line, made safe for a model and a terminal: a pattern can hold any words.
func (c Claim) Shown() string { return mail.Message{Content: c.What()}.FirstWords(maxWords) }

// Free reports whether its session is gone: then anybody may claim it.
func (c Claim) Free() bool { return !c.Gone.IsZero() }

// HeldError: another live session has a claim.
type HeldError struct{ Claim Claim }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s has claimed %s%s", e.Claim.Alias, e.Claim.Shown(), Reason(e.Claim))
}

// Reason is why a session has claimed something, in brackets, made safe for a model and a terminal; "": it has not said.
func Reason(c Claim) string {
	if c.Why == "" {
		return ""
	}
	return " (" + mail.Message{Content: c.Why}.FirstWords(maxWords) + ")"
}

// Wanted is what a session claims.
type Wanted struct {
	Paths    []string // relative to Dir, or absolute
	Task     string
	Why      string
	Dir      string // the folder of the caller
	Worktree string // "" if Dir is in none
}

// Make claims what a session wants: all of it, or with a *HeldError nothing.
func Make(ctx context.Context, reg *sessions.Registry, s sessions.Session, w Wanted) (made []Claim, err error) {
	for _, words := range []string{w.Task, w.Why} {
		if len(words) > maxWords || !utf8.ValidString(words) || strings.ContainsFunc(words, unicode.IsControl) {
			return nil, fmt.Errorf("%.40q: want plain text of at most %d bytes on one line", words, maxWords)
		}
	}
	now := reg.Now().UTC()
	if len(w.Paths) > maxClaims {
		return nil, errTooMany
	}
	for _, path := range w.Paths {
		abs, err := Resolve(w.Dir, path)
		if err == nil && (len(abs) > maxPath || !utf8.ValidString(abs)) {
			err = fmt.Errorf("path %.40q: want UTF-8 of at most %d bytes", abs, maxPath)
		}
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(made, func(c Claim) bool { return c.Path == abs }) {
			continue
		}
		made = append(made, Claim{SID: s.ID, Alias: s.Alias, Path: abs, File: fileOf(abs), Why: w.Why, Worktree: w.Worktree, At: now})
	}
	if w.Task != "" {
		made = append(made, Claim{SID: s.ID, Alias: s.Alias, Task: w.Task, Why: w.Why, Worktree: w.Worktree, At: now})
	}
	err = change(ctx, reg, func(all []Claim) ([]Claim, error) {
		for _, c := range made {
			for _, other := range all {
				if other.SID != s.ID && !other.Free() && overlap(c, other) {
					return nil, &HeldError{other}
				}
			}
			all = slices.DeleteFunc(all, func(other Claim) bool { return (other.SID == s.ID || other.Free()) && same(c, other) })
		}
		if len(all)+len(made) > maxClaims { // nobody may be locked out by those that are gone
			all = slices.DeleteFunc(all, Claim.Free)
		}
		if len(all)+len(made) > maxClaims {
			return nil, errTooMany
		}
		return append(all, made...), nil
	})
	return made, err
}

var errTooMany = fmt.Errorf("a project has at most %d claims", maxClaims)

// Release gives up claims of a session: those with these paths, or this task, or without any word all.
func Release(ctx context.Context, reg *sessions.Registry, s sessions.Session, w Wanted) (released []Claim, err error) {
	var paths []string
	for _, path := range w.Paths {
		abs, err := Resolve(w.Dir, path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, abs)
	}
	if !There(reg) {
		return nil, nil
	}
	all := len(paths) == 0 && w.Task == ""
	err = change(ctx, reg, func(list []Claim) ([]Claim, error) {
		return slices.DeleteFunc(list, func(c Claim) bool {
			gives := c.SID == s.ID && (all || c.Path != "" && slices.Contains(paths, c.Path) || w.Task != "" && strings.EqualFold(c.Task, w.Task))
			if gives {
				released = append(released, c)
			}
			return gives
		}), nil
	})
	return released, err
}

// There reports whether the root has claims. It costs one system call.
func There(reg *sessions.Registry) bool {
	_, err := reg.Dir().Stat(FileName)
	return !errors.Is(err, fs.ErrNotExist)
}

// List returns the claims, as of now. It changes nothing.
func List(ctx context.Context, reg *sessions.Registry) ([]Claim, error) {
	all, err := file(reg).Read()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return look(ctx, reg, all)
}

// On returns the claims that may be for one of the paths, which are as Resolve returns them. It edits all.
func On(all []Claim, paths []string) []Claim {
	return slices.DeleteFunc(all, func(c Claim) bool {
		return !slices.ContainsFunc(paths, func(name string) bool { return overlap(c, Claim{Path: name}) })
	})
}

// Held returns the claims of other live sessions on a file.
func Held(ctx context.Context, reg *sessions.Registry, sid, path string) (held []Claim, err error) {
	all, err := List(ctx, reg)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if path, err = Resolve("/", path); err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.SID != sid && !c.Free() && c.covers(path) {
			held = append(held, c)
		}
	}
	return held, nil
}

// file is the file of the claims.
func file(reg *sessions.Registry) records.File[Claim] {
	return records.File[Claim]{Dir: reg.Dir(), Name: FileName, Lock: LockName, Now: reg.Now, Log: reg.Log}
}

// look finds out which holders are gone and what their aliases are now, and drops the claims whose grace is over.
func look(ctx context.Context, reg *sessions.Registry, all []Claim) (kept []Claim, err error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	now, gone := reg.Now(), map[string]bool{}
	for _, c := range all {
		i := registry.FindSID(rows, c.SID)
		if i >= 0 {
			c.Alias = rows[i].Alias()
		} else if !mail.IsAddress(c.Alias) {
			c.Alias = "(unknown)"
		}
		if _, looked := gone[c.SID]; !looked {
			gone[c.SID] = i < 0 || reg.Session(rows[i]).State == sessions.Absent
		}
		switch {
		case !gone[c.SID]:
			c.Gone = time.Time{}
		case c.Gone.IsZero(), c.Gone.After(now): // after: the clock was set back
			c.Gone = now.UTC()
		case now.Sub(c.Gone) > Grace:
			continue
		}
		kept = append(kept, c)
	}
	return kept, nil
}

// change edits the claims as of now, under their lock.
func change(ctx context.Context, reg *sessions.Registry, edit func([]Claim) ([]Claim, error)) error {
	return file(reg).Change(ctx, func(before []Claim) ([]Claim, error) {
		now, err := look(ctx, reg, before)
		if err != nil {
			return nil, err
		}
		return edit(now)
	})
}
