package page

import (
	"time"

	"c2c/broker"
)

const (
	costTime  = 24 * time.Hour // the time for which the page counts mail
	maxFlows  = 100            // how many sessions, and how many pairs of sessions, the page shows
	ringKinds = 20             // ways and outcomes; there are fewer, unless a file is odd
)

// costList is what the page shows of broker.Costs.
type costList struct {
	broker.Costs
	More int `json:"more,omitempty"` // pairs that are not shown
}

// costs returns what the mail of the last day has cost.
func (p *Page) costs(c *call) (any, error) {
	all, err := c.b().Costs(c, p.now().Add(-costTime))
	if err != nil && all.Total.Handed == 0 {
		return nil, err
	}
	l := costList{all, max(0, len(all.Pairs)-maxFlows)}
	l.Rings = rings(l.Rings)
	l.Pairs = l.Pairs[:min(len(l.Pairs), maxFlows)]
	for i := range l.Pairs {
		l.Pairs[i].From, l.Pairs[i].To = visible(l.Pairs[i].From), visible(l.Pairs[i].To)
	}
	l.Sessions = l.Sessions[:min(len(l.Sessions), maxFlows)]
	for i := range l.Sessions {
		l.Sessions[i].Alias, l.Sessions[i].Rings = visible(l.Sessions[i].Alias), rings(l.Sessions[i].Rings)
	}
	return l, nil
}

func rings(all []broker.Rings) []broker.Rings {
	all = all[:min(len(all), ringKinds)]
	for i := range all {
		all[i].Method, all[i].Outcome = visible(all[i].Method), visible(all[i].Outcome)
	}
	return all
}
