package page

import "c2c/broker"

// maxFlows is how many sessions, and how many pairs of sessions, the page shows.
const maxFlows = 100

// costList is what the page shows of broker.Costs.
type costList struct {
	broker.Costs
	More int    `json:"more,omitempty"` // pairs that are not shown
	Note string `json:"note,omitempty"` // which mailboxes could not be read
}

// costs returns what the mail of the last day has cost.
func (p *Page) costs(c *call) (any, error) {
	all, err := c.b().Costs(c, p.now().Add(-broker.CostTime))
	l := costList{Costs: all, More: max(0, len(all.Pairs)-maxFlows)}
	if err != nil {
		l.Note = visible(err.Error())
	}
	l.Sessions, l.Pairs = l.Sessions[:min(len(l.Sessions), maxFlows)], l.Pairs[:min(len(l.Pairs), maxFlows)]
	for i, s := range l.Sessions {
		l.Sessions[i].Alias = visible(s.Alias)
	}
	for i, one := range l.Pairs {
		l.Pairs[i].From, l.Pairs[i].To = visible(one.From), visible(one.To)
	}
	return l, nil
}
