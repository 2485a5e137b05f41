package mail

import "slices"

// These words say how urgent an answer is (the field bucket). The time for the answer depends on
// them.
const (
	Blocking = "blocking"
	Urgent   = "urgent"
	Normal   = "normal"
)

// owedNames are the fields that follow from kind, tag and due. We write them for other programs,
// and do not read them.
var owedNames = [...]string{"action_required", "reply_required", "bucket"}

// Asks reports whether the kind of the message asks for an action and an answer (SPEC-091 section
// 5.3).
func (m Message) Asks() bool { return m.Kind == "question" || m.Kind == "task" || m.Kind == "review" }

// Owes reports whether the receiver owes an answer. Nobody owes an answer to a message that asks
// but has no Due: it was sent to many sessions, or by a program that does not know this field.
func (m Message) Owes() bool { return m.Due > 0 && m.Asks() }

// Bucket returns how urgent the message is for its sender.
func (m Message) Bucket() string {
	if m.Tag == Blocking || m.Tag == Urgent {
		return m.Tag
	}
	return Normal
}

// appendOwed appends the fields of owedNames.
func appendOwed(b []byte, m Message) []byte {
	if !m.Owes() {
		return b
	}
	return append(append(append(b, `,"action_required":true,"reply_required":true,"bucket":"`...), m.Bucket()...), '"')
}

// dropOwed removes from Extra the fields that appendOwed writes.
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

// Rings reports whether c2c rings a session for the message. It does not ring for deferrable
// messages, nor for messages of kind system from other programs. Most notices of c2c are
// deferrable.
func (m Message) Rings() bool {
	return !m.Deferrable && (m.Kind != KindSystem || m.From == SystemAlias)
}

// IsNotice reports whether c2c itself wrote a message. It looks at the sender, because archives of
// the OCaml c2c keep no kind.
func (m Message) IsNotice() bool { return m.From == SystemAlias }
