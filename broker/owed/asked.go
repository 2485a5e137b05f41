package owed

import (
	"time"

	"c2c/inbox/mail"
)

// Asked has the deadline of a message that asks for an answer. For any other message it is zero.
type Asked struct {
	Due    time.Time `json:"due,omitzero"`
	Bucket string    `json:"bucket,omitempty"`          // blocking, urgent or normal
	Action bool      `json:"action_required,omitempty"` // SPEC-091 section 5.3
	Reply  bool      `json:"reply_required,omitempty"`
}

func AskedOf(m mail.Message) Asked {
	if !m.Owes() {
		return Asked{}
	}
	return Asked{mail.FromSeconds(m.Due).UTC(), m.Bucket(), true, true}
}
