package deadlines

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"c2c/broker/notice"
	"c2c/sessions"
	"c2c/sessions/registry"
)

// tellNews tells the senders of messages what this look (a check of the deadlines) has found. It returns the time of the next notices.
func (c *Checker) tellNews(ctx context.Context, rows []registry.Row) (next time.Time) {
	bySender, order := map[string][]notice.News{}, []string{}
	for _, n := range c.allNews(rows) {
		if c.told[n.Notice()] {
			continue
		}
		to := notice.SenderOf(c.reg, rows, n.Message)
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
		to := rows[registry.FindSID(rows, sid)]
		if c.look.Session(to).State == sessions.Absent { // when the sender comes back, the registry changes, and this causes a look
			continue
		}
		if again := c.toldAt[sid].Add(notice.GapOf(all)); again.After(now) && !slices.ContainsFunc(all, notice.News.AtOnce) {
			next = sessions.Earlier(next, again)
			continue
		}
		if again := c.untold[sid]; again.After(now) {
			next = sessions.Earlier(next, again)
			continue
		}
		if len(all) > notice.MaxNews {
			all, next = all[:notice.MaxNews], sessions.Earlier(next, now.Add(notice.TellGap))
		}
		brief, end := context.WithTimeout(ctx, sessions.KeepWait) // a suspended process may hold the mailbox's lock for days
		err := notice.TellTogether(brief, c.reg, to, all)
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
func (c *Checker) allNews(rows []registry.Row) (all []notice.News) {
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
func (c *Checker) isNeedless(n notice.News) bool {
	return n.Reason == notice.Unread && n.Message.TellAfter <= 0 && (c.told[notice.About(n.Message, notice.Refused)] || c.told[notice.About(n.Message, notice.Ended)])
}
