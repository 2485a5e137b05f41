package hooks

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
)

// Dropped is what a client has dropped from a conversation since c2c brought it: with a prompt that
// its person has taken back, or with a request that failed or was stopped. The client's record of
// the session still has it.
type Dropped struct {
	gone []byte // the lines of the record that may have it
	left []byte // the conversation that is left
}

// MayTellDropped reports whether this event can show what the client has dropped.
func (e Event) MayTellDropped() bool {
	return e.protocol.dropped != nil && e.TellsTrouble() // the answer brings the mail again, because nothing rings for it
}

// MayHavePassed reports whether this event tells of an answer in a turn that may have begun without
// an event. What was dropped before that turn must wait again before the answer counts: it is no
// answer to that.
func (e Event) MayHavePassed() bool {
	return e.protocol.unprompted && !e.TellsTrouble() && e.MayAnswer()
}

// Dropped reads the client's record. The model has last answered at the time answered; zero: not
// known. Callers must check MayTellDropped or MayHavePassed before.
func (e Event) Dropped(answered time.Time) (d Dropped) {
	d.gone, d.left = e.protocol.dropped(e.Transcript, answered, !e.TellsTrouble())
	return d
}

// Has reports whether the client has dropped a message.
func (d Dropped) Has(m mail.Message) bool { return recordHas(d.gone, m) && !recordHas(d.left, m) }

// recordHas reports whether a record has a message. It looks for the beginning of the message's
// tag, up to the id: once unchanged, and once with the brackets escaped as in a hook's text. No
// text inside a message can look like such a tag.
func recordHas(record []byte, m mail.Message) bool {
	id := ` id="` + mail.ShortID(m.ID) + `"`
	tag, _, _ := strings.Cut(m.Envelope(), id)
	tag = strings.ReplaceAll(tag+id, `"`, `\"`)
	return bytes.Contains(record, []byte(tag)) || bytes.Contains(record, []byte(strings.ReplaceAll(tag, "<", "&lt;")))
}

// Digests returns the digests of rooms that the client has dropped, as they were.
func (d Dropped) Digests() string {
	var all []string
	for _, marks := range [][2]string{{`<c2c event=\"rooms\"`, `</c2c>`}, {`&lt;c2c event=\"rooms\"`, `&lt;/c2c&gt;`}} {
		for _, part := range bytes.Split(d.gone, []byte(marks[0]))[1:] {
			body, _, whole := bytes.Cut(part, []byte(marks[1]))
			raw := marks[0] + string(body) + marks[1]
			var text string
			if whole && !bytes.Contains(d.left, []byte(raw)) && json.Unmarshal([]byte(`"`+raw+`"`), &text) == nil && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return strings.Join(all, "\n")
}

// recordLine is the part that c2c reads of a line of Claude Code's and Qwen Code's records. A line
// names the line before it.
type recordLine struct {
	Type, Subtype, UUID, ParentUUID string
	Timestamp                       time.Time
	Attachment                      struct{ HookEvent string }
}

// takenBack divides the end of a record: the lines of prompts that their person has taken back, and
// all others. After Esc before the model's first word the client takes the prompt back and says so
// nowhere, but no line that tells of an answer, a failure or an interruption follows such a prompt.
// Nothing was taken back of what came before the last answer. If passed is set, the client may have
// only just written the last prompt, so a prompt counts only if another line has passed it. The
// function prompt reports whether a line has what a hook brought with a prompt, and beside whether
// a line only belongs to the line before it.
func takenBack(log string, answered time.Time, passed bool, prompt, beside func(recordLine) bool) (gone, left []byte) {
	var lines [][]byte
	var records []recordLine
	for line, r := range client.Records[recordLine](log) {
		if r.UUID != "" { // other lines are not in the conversation, but may repeat what is in it
			lines, records = append(lines, line), append(records, r)
		}
	}
	followed, later := map[string]bool{}, !passed
	for i, r := range slices.Backward(records) {
		switch {
		case beside(r):
			followed[r.ParentUUID] = followed[r.ParentUUID] || followed[r.UUID]
		case !prompt(r):
			followed[r.ParentUUID] = true
		}
		if prompt(r) && !followed[r.UUID] && r.Timestamp.After(answered) && later {
			gone = append(gone, lines[i]...)
		} else {
			left = append(left, lines[i]...)
		}
		later = later || !beside(r)
	}
	return gone, left
}
