package hook

import (
	"strings"

	"c2c/hooks"
	"c2c/sessions"
)

// sawEdit handles an event of a tool that edits a file. After the call it adds a warning to the answer that says who else holds the
// file; before the call it may refuse the call. It costs a system call, and starts c2cd only if a session has claimed something. An
// error must not keep mail back.
func (e *event) sawEdit() (refused bool, err error) {
	path, before := e.Edits()
	if path == "" {
		return false, nil
	}
	if _, err := e.b.Dir().Stat(sessions.ClaimsFile); err != nil {
		return false, nil
	}
	said, err := e.Claimed(e.Program.Cwd, e.profile.Name, e.s.ID, path)
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

// showNote answers with the note alone, because the client's plugin brings the mail.
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
