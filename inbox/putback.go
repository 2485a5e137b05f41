package inbox

import (
	"context"
	"slices"

	"c2c/inbox/mail"
)

// PutBack makes messages of the archive wait again, before the mail that waits now: they were
// handed over, and it is not known whether a model has seen them. Their field ShownAt says so. The
// archive keeps its records. A message that was put back since such a record is skipped, so PutBack
// may be called again.
func (m *Mailbox) PutBack(ctx context.Context, read []ArchiveRecord) error {
	if len(read) == 0 {
		return nil
	}
	lk, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lk.Release()
	ids := map[string]bool{}
	for _, r := range read {
		ids[r.ID] = true
	}
	there, err := m.withIDs(ids, false)
	if err != nil {
		return err
	}
	var back []mail.Message
	for _, r := range read {
		if !slices.ContainsFunc(there[r.ID], func(old mail.Message) bool { return old.SameSender(r.Message) && old.ShownAt >= r.DrainedAt }) {
			r.ShownAt = r.DrainedAt
			back = append(back, r.Message)
		}
	}
	if len(back) == 0 {
		return nil
	}
	file, err := m.root.ReadIf(m.inboxName())
	if err != nil {
		return err
	}
	waiting, damaged := decode(file)
	if next := mail.Array(append(back, waiting...)); !damaged && len(next) <= maxInbox {
		err = m.root.Replace(m.inboxName(), next)
	} else { // behind the others
		lease, lerr := m.root.Sub(m.LeaseName(), true)
		if lerr != nil {
			return lerr
		}
		defer lease.Close()
		names, nerr := lease.Names()
		if nerr != nil {
			return nerr
		}
		err = m.store(lease, names, back)
	}
	if err == nil {
		m.notify()
	}
	return err
}
