package outside

import (
	"context"
	"errors"
	"net/http"

	"c2c/broker"
	"c2c/serve"
	"c2c/sessions/permission"
)

// decide records a sender's verdict on a permission request. The sender must have the right to give
// verdicts, and the right to write to the session of the request.
func (h *Hooks) decide(ctx context.Context, open *serve.OpenRoot, q *request, id string, allow bool) (said, error) {
	v := permission.Verdict{Allow: allow, By: q.sender.Name, Via: "webhook", Proof: "key of a sender"}
	if q.identity != "" {
		v.By += "/" + q.identity
	}
	if !q.sender.Verdicts {
		if err := open.Permission.Refuse(ctx, id, v, permission.ErrNoRight); err != nil {
			return said{}, err
		}
		return said{}, refuse(http.StatusForbidden, "this sender may not answer permission requests")
	}
	sids, err := h.mayDecideFor(ctx, open.Broker, q)
	if err != nil {
		return said{}, err
	}
	v.Sessions = sids
	_, err = open.Permission.Decide(ctx, id, v)
	var decided *permission.DecidedError
	switch {
	case err == nil:
		return said{http.StatusOK, "verdict recorded", false}, nil
	case errors.Is(err, permission.ErrSeveral):
		return said{}, refuse(http.StatusConflict, "several sessions use this id: post to /in/<alias> of the session you mean")
	case errors.As(err, &decided) && decided.Request.State == permission.StateExpired:
		return said{}, refuse(http.StatusGone, "%v", err)
	case errors.As(err, &decided), errors.Is(err, permission.ErrPartial):
		return said{}, refuse(http.StatusConflict, "%v", err)
	case errors.Is(err, permission.ErrUnknown), errors.Is(err, permission.ErrNoRight):
		// Both errors get the same answer, so that a sender cannot find out the ids of other
		// sessions' requests.
		return said{}, refuse(http.StatusNotFound, "%v", permission.ErrUnknown)
	}
	return said{}, err
}

// mayDecideFor returns the sessions for which a verdict counts: the session of the alias in the
// path; for POST /, all sessions to which the sender may write. If err is nil, the result is not
// nil, because nil would mean all sessions.
func (h *Hooks) mayDecideFor(ctx context.Context, b *broker.Broker, q *request) ([]string, error) {
	all, err := b.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	sids := []string{}
	for _, s := range all {
		if to, ok := q.sender.MayWrite(s.Alias); ok && (q.first || to == q.to) {
			sids = append(sids, s.ID)
		}
	}
	return sids, nil
}
