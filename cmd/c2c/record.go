package main

import (
	"context"
	"errors"
	"time"

	"c2c/hooks"
	"c2c/inbox"
	"c2c/sessions"
	"c2c/wake"
)

// record records what the event says about the session: whether it works, answers, or is in a turn.
// byPlugin is true if c2c's plugin in the client does everything else.
func (e *event) record(ctx context.Context) (byPlugin bool, err error) {
	e.warn(e.sawTurn(ctx))
	does := sessions.State(e.Does())
	if e.profile.Plugin {
		byPlugin, err = e.b.LeftToPlugin(e.s)
		if err == nil && byPlugin && does != "" {
			err = e.b.SetTurn(ctx, e.s, does, wake.ByPlugin)
		}
		return byPlugin, err
	}
	if does != "" {
		e.warn(e.b.SetTurn(ctx, e.s, does, inbox.ByHook))
	}
	return false, nil
}

// sawTurn records what the event says about the session's work, and about answers of its model. It
// runs before the hook hands over mail.
func (e *event) sawTurn(ctx context.Context) error {
	reg := e.b.Registry
	if why := e.Failure(); why != "" {
		return sessions.SawFailure(ctx, reg, e.s.ID, why)
	}
	if e.Name == "SessionStart" {
		e.expectAnswers()
	}
	answered := time.Time{}
	if e.MayAnswer() {
		answered = e.Answered(e.config, time.Now())
	}
	if !answered.IsZero() && e.MayHavePassed() {
		e.takeBack(ctx)
	}
	works := e.Works()
	if works && sessions.IsCalm(reg, e.s.ID) {
		works, answered = false, time.Time{} // nothing waits for this news
	}
	var errs []error
	switch {
	case works:
		errs = append(errs, sessions.SawWork(reg, e.s.ID, e.UsesTool()))
	case e.UsesTool():
		errs = append(errs, sessions.SeesTools(reg, e.s.ID))
	}
	if !answered.IsZero() {
		errs = append(errs, sessions.SawAnswer(reg, e.s.ID, answered))
	}
	if works || e.Name == "SessionStart" {
		errs = append(errs, sessions.MarkCalm(reg, e.s))
	}
	return errors.Join(errs...)
}

// expectAnswers records that handed-over mail waits for an answer of the model. An older hook
// script does not call c2c when the model answers. If such a script runs this hook, expectAnswers
// does nothing, and the mail counts as read at once.
func (e *event) expectAnswers() {
	if e.TellsAnswers() && (!e.RunsScript() || e.getenv(hooks.ScriptEnv) != "") {
		e.warn(sessions.ExpectAnswers(e.b.Registry, e.s.ID))
	}
}
