package deadlines

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"c2c/broker/owed"
	"c2c/sessions"
)

// tellNews tells the senders of messages what this look (a check of the deadlines) has found. It returns the time of the next notices.
func (c *Checker) tellNews(ctx context.Context, rows []sessions.Row) (next time.Time) {
	bySender, order := map[string][]owed.News{}, []string{}
	for _, n := range c.allNews(rows) {
		if c.told[n.Notice()] {
			continue
		}
		to := owed.SenderOf(c.reg, rows, n.Message)
		if to == nil || c.wasTold(ctx, to.SID(), n.Notice()) || c.isNeedless(n) {
			continue
		}
		if bySender[to.SID()] == nil {
			order = append(order, to.SID())
		}
		bySender[to.SID()] = append(bySender[to.SID()], n)
	}
	now := c.reg.Now()
	for _, sid := range order {
		all := bySender[sid]
		to := rows[sessions.FindSID(rows, sid)]
		if c.look.Session(to).State == sessions.Absent { // when the sender comes back, the registry changes, and this causes a look
			continue
		}
		if again := c.toldAt[sid].Add(owed.NoticeGap(all)); again.After(now) && !slices.ContainsFunc(all, owed.News.AtOnce) {
			next = sessions.Earlier(next, again)
			continue
		}
		if again := c.untold[sid]; again.After(now) {
			next = sessions.Earlier(next, again)
			continue
		}
		if len(all) > owed.MaxNews {
			all, next = all[:owed.MaxNews], sessions.Earlier(next, now.Add(owed.TellGap))
		}
		brief, end := context.WithTimeout(ctx, sessions.KeepWait) // a suspended process may hold the mailbox's lock for days
		err := owed.TellTogether(brief, c.reg, to, all)
		if end(); err != nil {
			if ctx.Err() == nil {
				c.reg.Log.Warn("a sender got no notice about its messages", "session", sid, "err", err)
			}
			c.untold[sid] = now.Add(retryAfter)
			next = sessions.Earlier(next, c.untold[sid])
			continue
		}
		c.toldAt[sid] = now
		for _, n := range all {
			c.told[n.Notice()] = true
		}
	}
	return next
}

// allNews returns the news from mailboxes, from records of owed answers (both in the order of the registry), and from outboxes.
func (c *Checker) allNews(rows []sessions.Row) (all []owed.News) {
	for _, r := range rows {
		if mem := c.boxes[r.SID()]; mem != nil {
			all = append(all, mem.news...)
		}
	}
	for _, r := range rows {
		if mem := c.owed[r.SID()]; mem != nil {
			all = append(all, mem.news...)
		}
	}
	for _, sid := range slices.Sorted(maps.Keys(c.boxes)) {
		if strings.HasPrefix(sid, sessions.HostPrefix) {
			all = append(all, c.boxes[sid].news...)
		}
	}
	return all
}

// isNeedless reports whether a notice about an unread message is needless. If an earlier notice has said that the receiver refuses mail, or
// has ended, the sender knows already why the message is unread.
func (c *Checker) isNeedless(n owed.News) bool {
	return n.Reason == owed.Unread && n.Message.TellAfter <= 0 && (c.told[owed.About(n.Message, owed.Refused)] || c.told[owed.About(n.Message, owed.Ended)])
}
