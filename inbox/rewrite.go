package inbox

import (
	"context"
	"errors"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// keepRest writes a file anew, without the messages for which the function handed returns true.
// First it archives messages that were read earlier on a full disk. Then it renames the file, and
// then it writes the new content. A crash in between does no harm: <archived> stays in the name,
// and messages that the archive has after that place are not offered again. If keepRest cannot
// write the new content, it restores the old name.
func (m *Mailbox) keepRest(ctx context.Context, mf *mailFile, handed func(mail.Message) bool) error {
	rest := slices.DeleteFunc(slices.Clone(mf.msgs), handed)
	if len(rest) > 0 && len(rest) == len(mf.msgs) && mf.acked == 0 {
		return nil
	}
	if err := m.archive.Append(ctx, mf.by, mf.pending, mf.archived); err != nil {
		return err
	}
	if len(rest) == 0 {
		return m.remove(mf)
	}
	if mf.damaged {
		if err := m.setAside(mf.dir, mf.name()); err != nil {
			return err
		}
	}
	file, before := mail.Array(rest), *mf
	err := mf.rename(func(next *mailFile) { next.count, next.bytes, next.acked = len(rest), int64(len(file)), 0 })
	if err != nil {
		return err
	}
	err = mf.dir.Replace(mf.name(), file)
	if err != nil && !errors.As(err, new(*atomicfile.SyncError)) {
		err = errors.Join(err, mf.rename(func(next *mailFile) { next.count, next.bytes, next.acked = len(mf.msgs), before.bytes, before.acked }))
	}
	return err
}

// noneHanded is the argument for keepRest when no more messages were handed over.
func noneHanded(mail.Message) bool { return false }

// remove deletes a numbered file. It moves a damaged file beside the inbox instead.
func (r *row) remove(mf *mailFile) error {
	if mf.damaged {
		return atomicfile.UnlessAbsent(mf.dir.Move(mf.name(), r.root, r.asideName()))
	}
	return atomicfile.UnlessAbsent(mf.dir.Remove(mf.name()))
}

func (m *Mailbox) notArchived(err error) {
	m.log.Warn("acknowledged mail is not archived yet", "session", m.sid, "err", err)
}
