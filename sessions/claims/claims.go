// Package claims records which session works on which files or tasks. A claim is advice: c2c warns
// another session that edits a claimed file, and refuses the edit only in a project that asks for
// this.
//
// The claims are in claims.json in the root, under the lock claims.lock. The file exists only while
// there is a claim, so a project without claims costs nothing. A claim holds while its session
// lives. c2c sees this from the client's process, or from a kernel lock that the session's server
// holds. So a claim is free at once when its holder is killed. But the entry stays for Grace: a
// session that comes back within Grace has its claim again, unless another session has taken it.
// Any process may call this package at any time.
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
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

const (
	FileName = sessions.ClaimsFile
	LockName = "claims.lock"

	// Grace is how long the claim of a session that is gone is kept, in case the session returns.
	Grace = 10 * time.Minute

	maxClaims = 1000
	maxWords  = 200  // bytes of a task or a reason
	maxPath   = 4096 // bytes of a path, as in Linux
)

// Claim is a path or a task that a session works on.
type Claim struct {
	SID      string    `json:"session_id"`
	Alias    string    `json:"alias"`
	Path     string    `json:"path,omitempty"` // absolute, without links; may be a pattern with * ? [ or **
	Task     string    `json:"task,omitempty"`
	Why      string    `json:"why,omitempty"`
	Worktree string    `json:"worktree,omitempty"`
	At       time.Time `json:"at"`
	Gone     time.Time `json:"gone,omitzero"` // when its session was first seen to be gone
}

// What returns the claimed path, relative to its worktree, or the task.
func (c Claim) What() string {
	if c.Path == "" {
		return c.Task
	}
	if rest, below := strings.CutPrefix(c.Path, c.Worktree+"/"); c.Worktree != "" && below {
		return rest
	}
	return c.Path
}

// Shown makes the result of the method What safe for a model and a terminal, and short: a path can
// contain any words.
func (c Claim) Shown() string { return mail.Message{Content: c.What()}.FirstWords(maxWords) }

// Free reports whether the claim's session is gone. Then any session may claim the same path or
// task.
func (c Claim) Free() bool { return !c.Gone.IsZero() }

// HeldError says that another live session has a claim.
type HeldError struct{ Claim Claim }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s has claimed %s%s", e.Claim.Alias, e.Claim.Shown(), Reason(e.Claim))
}

// Reason returns why a session has claimed something, in brackets, safe for a model and a terminal.
// It returns "" if the session gave no reason.
func Reason(c Claim) string {
	if c.Why == "" {
		return ""
	}
	return " (" + mail.Message{Content: c.Why}.FirstWords(maxWords) + ")"
}

// Wanted says what a session claims or releases.
type Wanted struct {
	Paths    []string // relative to Dir, or absolute
	Task     string
	Why      string
	Dir      string // the folder of the caller
	Worktree string // "" if Dir is in no work tree
}

// Make claims everything that the session s wants. If another live session has one of these claims,
// Make claims nothing, and the error is a *HeldError.
func Make(ctx context.Context, reg *sessions.Registry, s sessions.Session, w Wanted) (made []Claim, err error) {
	for _, words := range []string{w.Task, w.Why} {
		if len(words) > maxWords || !utf8.ValidString(words) || strings.ContainsFunc(words, unicode.IsControl) {
			return nil, fmt.Errorf("%.40q: want plain text of at most %d bytes on one line", words, maxWords)
		}
	}
	if err := s.MayAct(); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
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
		if err == nil && hasBraces(abs) {
			err = fmt.Errorf("path %q: braces match nothing: name each path, or use * or **", path)
		}
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(made, func(c Claim) bool { return c.Path == abs }) {
			continue
		}
		made = append(made, Claim{SID: s.ID, Alias: s.Alias, Path: abs, Why: w.Why, Worktree: w.Worktree, At: now})
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
		if len(all)+len(made) > maxClaims { // claims of sessions that are gone must not use up the limit
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

// Release gives up claims of the session s: those with one of the paths in w or with the task in w.
// If w has no path and no task, it gives up all claims of s.
func Release(ctx context.Context, reg *sessions.Registry, s sessions.Session, w Wanted) (released []Claim, err error) {
	if err := s.MayAct(); err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
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

// List returns the claims as they are now, see refresh. It changes no file.
func List(ctx context.Context, reg *sessions.Registry) ([]Claim, error) {
	all, err := file(reg).Read()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return refresh(ctx, reg, all)
}

// On filters the slice all: it keeps the claims that may cover one of the paths, and returns them.
// The paths must come from Resolve.
func On(all []Claim, paths []string) []Claim {
	return slices.DeleteFunc(all, func(c Claim) bool {
		return !slices.ContainsFunc(paths, func(name string) bool { return overlap(c, Claim{Path: name}) })
	})
}

// Held returns the claims that other live sessions have on a file.
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

// file returns the file of the claims.
func file(reg *sessions.Registry) atomicfile.RecordsFile[Claim] {
	return atomicfile.RecordsFile[Claim]{Dir: reg.Dir(), Name: FileName, Lock: LockName, Now: reg.Now, Log: reg.Log}
}

// refresh finds out which holders are gone, and which aliases the holders have now. It drops claims
// whose Grace is over.
func refresh(ctx context.Context, reg *sessions.Registry, all []Claim) (kept []Claim, err error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	now, look, gone := reg.Now(), reg.Prober(), map[string]bool{}
	for _, c := range all {
		i := sessions.FindSID(rows, c.SID)
		if i >= 0 {
			c.Alias = rows[i].Alias()
		} else {
			c.Alias = mail.SafeAlias(c.Alias)
		}
		if _, looked := gone[c.SID]; !looked {
			gone[c.SID] = i < 0 || look.Session(rows[i]).State == sessions.Absent
		}
		switch {
		case !gone[c.SID]:
			c.Gone = time.Time{}
		case c.Gone.IsZero(), c.Gone.After(now): // if the time is in the future, the clock was set back
			c.Gone = now.UTC()
		case now.Sub(c.Gone) > Grace:
			continue
		}
		kept = append(kept, c)
	}
	return kept, nil
}

// change refreshes the claims and calls edit with them, under their lock.
func change(ctx context.Context, reg *sessions.Registry, edit func([]Claim) ([]Claim, error)) error {
	return file(reg).Change(ctx, func(before []Claim) ([]Claim, error) {
		now, err := refresh(ctx, reg, before)
		if err != nil {
			return nil, err
		}
		return edit(now)
	})
}
