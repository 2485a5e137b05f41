package mail

import "slices"

// Buckets, by which the time for an answer is chosen.
const (
	Blocking = "blocking"
	Urgent   = "urgent"
	Normal   = "normal"
)

// owedNames are the fields that follow from kind, tag and due. They are written for other programs and not read.
var owedNames = [...]string{"action_required", "reply_required", "bucket"}

// Asks says whether a message of its kind wants an action and an answer (SPEC-091 section 5.3).
func (m Message) Asks() bool { return m.Kind == "question" || m.Kind == "task" || m.Kind == "review" }

// Owes says whether its receiver owes an answer to it. A message that asks and has no time for that was sent to many, or
// by a program that knows of no time.
func (m Message) Owes() bool { return m.Due > 0 && m.Asks() }

// Bucket is how urgent a message is for its sender.
func (m Message) Bucket() string {
	if m.Tag == Blocking || m.Tag == Urgent {
		return m.Tag
	}
	return Normal
}

// appendOwed writes what follows from the fields before it.
func appendOwed(b []byte, m Message) []byte {
	if !m.Owes() {
		return b
	}
	return append(append(append(b, `,"action_required":true,"reply_required":true,"bucket":"`...), m.Bucket()...), '"')
}

// dropOwed takes out of the fields of others what appendOwed writes.
func dropOwed(m *Message) {
	if m.Owes() {
		m.Extra = slices.DeleteFunc(m.Extra, func(f Field) bool { return slices.Contains(owedNames[:], f.Name) })
	}
}

// SystemAlias is the sender of c2c's own messages, and KindSystem is their kind.
const (
	SystemAlias = "c2c-system"
	KindSystem  = "system"
)

// Rings says whether somebody is rung for a message. What other programs write of themselves rings nobody, nor do notices of
// c2c, but for a reminder.
func (m Message) Rings() bool {
	return !m.Deferrable && (m.Kind != KindSystem || m.From == SystemAlias)
}

// IsNotice says whether c2c itself wrote a message. An archive of the original keeps no kind, so the sender counts.
func (m Message) IsNotice() bool { return m.From == SystemAlias }
