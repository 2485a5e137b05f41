package main

import (
	"strings"

	"c2c/hooks"
	"c2c/sessions"
)

// sawEdit handles an event before or after a tool edits a file. Before the edit it may refuse the edit. After the edit, if other sessions
// have claimed the file, it adds a warning to the answer. If no session has claimed anything, sawEdit costs one system call, and does not
// start c2cd. An error of c2cd is printed, not returned, because it must not keep mail back.
func (e *event) sawEdit() (refused bool, err error) {
	path, before := e.Edits()
	if path == "" {
		return false, nil
	}
	if _, err := e.b.Dir().Stat(sessions.ClaimsFile); err != nil {
		return false, nil
	}
	said, err := e.Claimed(e.b.Root(), e.profile.Name, e.s.ID, path)
	e.warn(err)
	warning, refusal, _ := strings.Cut(strings.TrimSpace(said), "\n")
	switch {
	case before && refusal != "":
		out, err := e.RefuseEdit(refusal)
		if err != nil {
			return false, err
		}
		return true, e.Show(append(out, '\n'), false)
	case !before && warning != "":
		e.Note = strings.TrimPrefix(e.Note+"\n"+warning, "\n")
	}
	return false, nil
}

// showNote answers with the note alone, without mail.
func (e *event) showNote() error {
	if e.Note == "" {
		return nil
	}
	out, err := hooks.Render(e.Event, nil, false)
	if err != nil {
		return err
	}
	return e.Show(out.Output, false)
}
