package inbox

import (
	"maps"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// batch is what one sender stores for others.
type batch struct {
	msgs  []mail.Message
	files []*atomicfile.Handle // to be signed
}

// claim takes what others have queued, to be stored together with fresh. A message whose id its sender has used
// before is left, so that its own sender compares the two. The caller holds the lock.
func (m *Mailbox) claim(dir *atomicfile.Dir, names []string, fresh []mail.Message) *batch {
	offers, chosen := map[string][]mail.Message{}, map[string]bool{} // the ids: one search for all
	files := map[string]*atomicfile.Handle{}
	for _, name := range names {
		if f := openQueued(dir, name); f != nil {
			offers[name], files[name] = readQueued(f, m.limits.Body), f
		}
		for _, msg := range offers[name] {
			if msg.HasChosenID() {
				chosen[msg.ID] = true
			}
		}
	}
	there, err := m.withIDs(chosen, false)
	for _, msg := range fresh {
		there[msg.ID] = append(there[msg.ID], msg)
	}
	b, size := &batch{}, int64(0)
	for _, name := range slices.Sorted(maps.Keys(files)) { // the oldest first
		msgs := offers[name]
		known := func(msg mail.Message) bool { return slices.ContainsFunc(there[msg.ID], msg.SameSender) }
		if err != nil || len(msgs) == 0 || size+sizeOf(msgs) > maxBatch || slices.ContainsFunc(msgs, known) || dir.Remove(name) != nil {
			files[name].Close()
			continue
		}
		size += sizeOf(msgs)
		b.msgs, b.files = append(b.msgs, msgs...), append(b.files, files[name])
		for _, msg := range msgs {
			there[msg.ID] = append(there[msg.ID], msg)
		}
	}
	return b
}

// sizeOf gives the bytes of the bodies.
func sizeOf(msgs []mail.Message) (size int64) {
	for _, msg := range msgs {
		size += int64(len(msg.Content))
	}
	return size
}

// close ends the claim, and tells the senders when their messages are stored. One whose sign is lost looks for them.
func (b *batch) close(stored bool) {
	for _, f := range b.files {
		if stored {
			f.WriteAt([]byte{signStored}, 0)
		}
		f.Close()
	}
}
