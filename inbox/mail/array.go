package mail

import "c2c/internal/fields"

// LineRoom is about the number of bytes that the line of a message has besides its content.
const LineRoom = 320

// Array formats messages as a mailbox file and as the answer of a command with --json: one message
// per line. If there is a message, each bracket has a line of its own, so a shell script sees from
// the first line whether mail waits.
func Array(msgs []Message) []byte {
	size := 0
	for i := range msgs {
		size += len(msgs[i].Content) + LineRoom
	}
	return fields.Array(len(msgs), size, func(b []byte, i int) []byte {
		return append(msgs[i].AppendFields(b, "{"), '}')
	})
}
