package inbox

import (
	"maps"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// batch has the messages that one sender stores for other senders.
type batch struct {
	msgs  []mail.Message
	files []*atomicfile.Handle // the queued files of those other senders
}

// claim takes files of messages that other senders have queued. The caller stores these messages
// together with its own messages, which are in own. If the mailbox or own has a message with the
// same sender and id as a queued one, claim leaves that file in the queue, because its sender must
// compare the two messages. The caller holds the lock.
func (m *Mailbox) claim(dir *atomicfile.Dir, names []string, own []mail.Message) *batch {
	offers, chosen := map[string][]mail.Message{}, map[string]bool{} // chosen has the ids of all files, for one search in the mailbox
	files := map[string]*atomicfile.Handle{}
	for _, name := range names {
		if f := openQueued(dir, name); f != nil {
			offers[name], files[name] = readQueued(f), f
		}
		for _, msg := range offers[name] {
			if msg.HasChosenID() {
				chosen[msg.ID] = true
			}
		}
	}
	there, err := m.withIDs(chosen, false)
	for _, msg := range own {
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

// sizeOf returns the size of all bodies in bytes.
func sizeOf(msgs []mail.Message) (size int64) {
	for _, msg := range msgs {
		size += int64(len(msg.Content))
	}
	return size
}

// close closes the claimed files. If stored is set, it first writes signStored into each file. A
// sender whose file does not have this mark searches the mailbox for its messages.
func (b *batch) close(stored bool) {
	for _, f := range b.files {
		if stored {
			f.WriteAt([]byte{signStored}, 0)
		}
		f.Close()
	}
}
