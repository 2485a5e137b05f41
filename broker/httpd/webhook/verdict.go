package webhook

import (
	"context"
	"errors"
	"net/http"

	"c2c/broker"
	"c2c/broker/httpd"
	"c2c/broker/permission"
)

// decide records the verdict of a sender that may give one, on a request of a session that it may write to.
func (h *Hooks) decide(ctx context.Context, place *httpd.Place, q *request, id string, allow bool) (said, error) {
	v := permission.Verdict{Allow: allow, By: q.sender.Name, Via: "webhook"}
	if q.identity != "" {
		v.By += "/" + q.identity
	}
	if !q.sender.Verdicts {
		err := place.Permission.Refuse(ctx, id, v)
		if errors.Is(err, permission.ErrNoRight) {
			err = refuse(http.StatusForbidden, "this sender may not answer permission requests")
		}
		return said{}, err
	}
	sids, err := h.mayDecideFor(ctx, place.Broker, q)
	if err != nil {
		return said{}, err
	}
	v.Sessions = sids
	_, err = place.Permission.Decide(ctx, id, v)
	var decided *permission.DecidedError
	var expired *permission.ExpiredError
	var several *permission.AmbiguousError
	switch {
	case err == nil:
		return said{http.StatusOK, "verdict recorded", false}, nil
	case errors.As(err, &several):
		return said{}, refuse(http.StatusConflict, "several sessions ask with this id: post to /in/<alias> of the one you mean")
	case errors.As(err, &decided):
		return said{}, refuse(http.StatusConflict, "%v", err)
	case errors.As(err, &expired):
		return said{}, refuse(http.StatusGone, "%v", err)
	case errors.Is(err, permission.ErrUnknown), errors.Is(err, permission.ErrNoRight):
		// Alike, so that nobody learns which ids other sessions have.
		return said{}, refuse(http.StatusNotFound, "%v", permission.ErrUnknown)
	}
	return said{}, err
}

// mayDecideFor gives the sessions for which a verdict counts: that of the alias in the path, or all that the sender may
// write to. It is never nil without an error, since nil would mean everybody.
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
