package main

import (
	"context"
	"errors"
	"time"

	"c2c/broker/moves"
	"c2c/hooks"
	"c2c/sessions"
	"c2c/wake"
)

// record records what the event says about the session: whether it works, answers, or is in a turn.
// byPlugin is true if c2c's plugin in the client does everything else.
func (e *event) record(ctx context.Context) (byPlugin bool, err error) {
	e.warn(errors.Join(e.sawWork(), e.sawAnswer(ctx)))
	does := sessions.State(e.Does())
	if e.profile.Plugin {
		byPlugin, err = moves.LeftToPlugin(e.b.Registry, e.s)
		if err == nil && byPlugin && does != "" {
			err = e.b.SetTurn(ctx, e.s, does, wake.ByPlugin)
		}
		return byPlugin, err
	}
	if does != "" {
		e.warn(e.b.SetTurn(ctx, e.s, does, sessions.ByHook))
	}
	return false, nil
}

// sawWork records for the loop guard what the event says about the session's work.
func (e *event) sawWork() error {
	switch {
	case e.Works():
		return sessions.SawWork(e.b.Registry, e.s.ID, e.UsesTool())
	case e.UsesTool():
		return sessions.SeesTools(e.b.Registry, e.s.ID)
	}
	return nil
}

// sawAnswer records what the event says about answers of the session's model. It runs before the
// hook hands over mail.
func (e *event) sawAnswer(ctx context.Context) error {
	if why := e.Failure(); why != "" {
		return sessions.SawFailure(ctx, e.b.Registry, e.s.ID, why)
	}
	if e.Name == "SessionStart" {
		e.expectAnswers()
	}
	if e.MayAnswer() {
		if at := e.Answered(e.config, time.Now()); !at.IsZero() {
			if e.MayHavePassed() {
				e.takeBack(ctx)
			}
			return sessions.SawAnswer(e.b.Registry, e.s.ID, at)
		}
	}
	return nil
}

// expectAnswers records that handed-over mail waits for an answer of the model. An older hook
// script does not call c2c when the model answers. If such a script runs this hook, expectAnswers
// does nothing, and the mail counts as read at once.
func (e *event) expectAnswers() {
	if e.TellsAnswers() && (!e.RunsScript() || e.Getenv(hooks.ScriptEnv) != "") {
		e.warn(sessions.ExpectAnswers(e.b.Registry, e.s.ID))
	}
}
