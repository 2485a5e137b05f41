package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/client"
	"c2c/hooks"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/claims"
)

// sawEdit handles an event before or after a tool edits a file. Before the edit it may refuse the
// edit. After the edit, if other sessions have claimed the file, it adds a warning to the answer.
// If no session has claimed anything, sawEdit costs one system call. An error about claims is
// printed, not returned, because it must not keep mail back.
func (e *event) sawEdit(ctx context.Context) (refused bool, err error) {
	path, before := e.Edits()
	if path == "" || !claims.There(e.b.Registry) {
		return false, nil
	}
	text, refused, err := claims.Holders(ctx, e.b.Registry, e.s, []string{path}, quotesClaims(e.profile))
	e.warn(err)
	switch {
	case err != nil || text == "":
		return false, nil
	case e.profile.MailedWarnings && !refused:
		e.warn(owed.WarnOfClaim(ctx, e.b.Registry, e.s, text, claims.Tried))
	case before && refused:
		out, err := e.RefuseEdit("c2c: " + text + claims.Refuses)
		if err != nil {
			return false, err
		}
		return true, e.showHook(append(out, '\n'), false)
	case !before:
		e.Note = strings.TrimPrefix(e.Note+"\nc2c: "+text+claims.Edited, "\n")
	}
	return false, nil
}

// warnOfClaims answers the event of a client before a tool call that edits files: it says which
// sessions have claimed them. An error here never stops the tool call.
func (c *call) warnOfClaims(ctx context.Context, name string) error {
	edit, err := hooks.ParseEdit(c.stdin)
	if err != nil || len(edit.Paths) == 0 {
		return err
	}
	editor := callers.Caller{Client: name, ClientID: edit.SessionID, Getenv: c.getenv}
	b, err := broker.OpenFor(editor, c.cwd, broker.Config{Log: c.log(), Existing: true})
	if err != nil {
		return atomicfile.UnlessAbsent(err)
	}
	defer b.Close()
	if !claims.There(b.Registry) {
		return nil
	}
	s, err := callers.Resolve(ctx, b.Registry, editor)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return err
	}
	profile, known := client.Find(name)
	text, refused, err := claims.Holders(ctx, b.Registry, s, edit.Paths, known && quotesClaims(profile))
	switch {
	case err != nil || text == "":
		return err
	case profile.MailedWarnings && !refused:
		return owed.WarnOfClaim(ctx, b.Registry, s, text, claims.Tried)
	case refused:
		text += claims.Refuses
	default:
		text += claims.Allows
	}
	out, err := json.Marshal(hooks.EditAnswer("c2c: "+text, refused))
	if err != nil {
		return err
	}
	return c.showHook(append(out, '\n'), false)
}

// quotesClaims reports whether the model may see the words that the holder of a claim wrote.
func quotesClaims(editor client.Profile) bool { return !editor.HooksCommand && !editor.MailedWarnings }

// showNote answers with the note alone, without mail.
func (e *event) showNote() error {
	if e.Note == "" {
		return nil
	}
	out, err := hooks.Render(e.Event, nil, false)
	if err != nil {
		return err
	}
	return e.showHook(out.Output, false)
}
