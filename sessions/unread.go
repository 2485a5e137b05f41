package sessions

import (
	"context"
	"slices"

	"c2c/inbox"
	"c2c/inbox/mail"
)

// Mail that was handed over belongs to the conversation that got it, until the model answers. If
// the conversation ends before that, or its client drops the mail with a failed request, the mail
// waits again (PutBack) for whoever has the mailbox next.

// maxUnread bounds how many messages are checked.
const maxUnread = 50

// Unread returns the newest messages that were handed over to a session and that its model has not
// answered since, oldest first.
func Unread(reg *Registry, sid string) (unread []inbox.ArchiveRecord, err error) {
	last, told := LastAnswer(reg, sid)
	if !told {
		return nil, nil
	}
	box, err := reg.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	back := reg.Facts.Of(sid).PutBack
	seen := map[mail.Key]bool{}
	err = box.Archive().Recent(func(r inbox.ArchiveRecord) (more bool) {
		if r.DrainedAt <= back || last.After(mail.FromSeconds(r.DrainedAt)) {
			return false
		}
		key := mail.Key{Session: r.FromSession, From: r.From, ID: r.ID}
		if AfterRead(r.DrainedBy) == Read && !r.ContentDropped && !seen[key] {
			unread = append(unread, r)
		}
		seen[key] = true // a message that was put back has several records, and the newest counts
		return len(seen) < maxUnread
	})
	slices.Reverse(unread)
	return unread, err
}

// PutBack makes unread messages of a session wait again: those that match; nil: all, for good. It
// returns how many matched.
func PutBack(ctx context.Context, reg *Registry, sid string, match func(inbox.ArchiveRecord) bool) (matched int, err error) {
	unread, err := Unread(reg, sid)
	if err != nil {
		return 0, err
	}
	all := match == nil
	unread = slices.DeleteFunc(unread, func(r inbox.ArchiveRecord) bool { return !all && !match(r) })
	if len(unread) == 0 {
		return 0, nil
	}
	box, err := reg.Mailbox(sid)
	if err == nil {
		err = box.PutBack(ctx, unread)
	}
	if err == nil && all { // from here they may move to another session
		err = reg.Facts.Change(ctx, sid, func(f *Facts) { f.PutBack = unread[len(unread)-1].DrainedAt })
	}
	return len(unread), err
}
