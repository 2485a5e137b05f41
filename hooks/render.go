package hooks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"c2c/inbox/mail"
	"c2c/internal/format"
)

const howRead = "Read it with the poll_inbox tool of c2c, or run: c2c poll-inbox"

// notShown asks the model to tell its person about the mail, because the client does not show it.
const notShown = "c2c: your user is not shown this mail. Say in your answer who has written, and what."

// Answer is the text that a hook prints, with the messages that this text hands over or announces.
// Shown and Announced have indexes into Render's argument msgs.
type Answer struct {
	Output    []byte // nil: print nothing
	Shown     []int  // messages that are in Output whole
	Announced []int  // messages that Output only mentions
}

// Render makes the answer to an event. msgs are waiting messages, oldest first; more means that
// further messages wait.
func Render(e Event, msgs []mail.Message, more bool) (a Answer, err error) {
	text, shows := "", e.protocol.shows(e)
	envelope := func(m mail.Message) string { return m.EnvelopeAt(e.Now) }
	switch {
	case len(msgs) > 0 && shows == bodies:
		p := e.protocol
		if e.Note != "" {
			p.limit -= p.length(e.Note)
		}
		text, _ = p.fill(&a, msgs, more, envelope)
		if e.OnError() && len(a.Shown) > 0 {
			text += "\n" + notShown
		}
	case len(msgs) > 0 && shows == notice:
		text = announce(msgs, more)
		for i := range msgs {
			a.Announced = append(a.Announced, i)
		}
	case e.Watch == "" && e.Note == "" && len(e.Carried) == 0:
		return a, nil
	}
	if e.Note != "" {
		text = strings.TrimSuffix(e.Note+"\n"+text, "\n")
	}
	said := e.Carried
	if e.protocol.hides != nil && e.protocol.hides(e) {
		for _, i := range a.Shown {
			said = append(said, msgs[i])
		}
	}
	answer := e.protocol.encode(e, text, lines(said))
	if plain, ok := answer.(string); ok {
		a.Output = []byte(plain)
	} else {
		a.Output, err = json.Marshal(answer)
	}
	a.Output = append(a.Output, '\n')
	return a, err
}

// Shell makes the text that a command prints in a client's shell. The shell passes on at most limit
// bytes, and counts a line as at least minLine bytes. The function print makes the text of one
// message. notes are c2c's own sentences in Output.
func Shell(limit, minLine int, msgs []mail.Message, more bool, print func(mail.Message) string) (a Answer, notes []string) {
	p := protocol{limit: limit, length: func(text string) (n int) {
		for l := range strings.Lines(mail.Visible(text, "\n\t")) {
			n += max(len(l), minLine)
		}
		return n
	}}
	text, notes := p.fill(&a, msgs, more, print)
	a.Output = []byte(text + "\n")
	return a, notes
}

// fill joins the first messages, as many as fit whole. If a message would not fit even alone, fill
// announces it instead, and the message stays in the mailbox. notes are c2c's own sentences in
// text.
func (p protocol) fill(a *Answer, msgs []mail.Message, more bool, print func(mail.Message) string) (text string, notes []string) {
	const reserve = 300 // for leftOut and notShown
	preface := mail.Preface(msgs)
	most := p.limit - reserve - p.length(preface)
	parts, room := []string{preface}, most
	for i, m := range msgs {
		part := print(m)
		long := p.length(part)+1 > most
		if long {
			part = fmt.Sprintf("A message of %d bytes from %s is too long to show here: the poll_inbox tool of c2c hands it over in parts, c2c poll-inbox > file whole.", len(m.Content), m.Who())
		}
		if room -= p.length(part) + 1; room < 0 {
			note := leftOut(len(msgs)-i, more)
			return strings.Join(append(parts, note), "\n"), append(notes, note)
		}
		parts = append(parts, part)
		if long {
			a.Announced, notes = append(a.Announced, i), append(notes, part)
		} else {
			a.Shown = append(a.Shown, i)
		}
	}
	if more {
		note := leftOut(0, more)
		parts, notes = append(parts, note), append(notes, note)
	}
	return strings.Join(parts, "\n"), notes
}

// leftOut returns a sentence about n messages that were left out, and how to read them. more means
// that further messages wait, which are not among the n.
func leftOut(n int, more bool) string {
	return mail.MoreWait(n, more) + ". " + howRead
}

func announce(msgs []mail.Message, more bool) string {
	const named = 10
	var senders []string
	for _, m := range msgs {
		if name := m.Who(); !slices.Contains(senders, name) {
			senders = append(senders, name)
		}
	}
	if len(senders) > named {
		senders = append(senders[:named], "and more")
	}
	count := format.Count(len(msgs), "message waits", "messages wait")
	if more {
		count = fmt.Sprintf("%d messages and more wait", len(msgs))
	}
	return "c2c: " + count + " for you: " + strings.Join(senders, ", ") + ". " + howRead + "."
}

// lines describes messages to a person. Each message gets a line with its sender and its first
// words.
func lines(msgs []mail.Message) string {
	const most, width = 5, 100
	var said []string
	for i, m := range msgs {
		if i == most {
			said = append(said, fmt.Sprintf("and %d more", len(msgs)-most))
			break
		}
		said = append(said, "Mail from "+m.Line(width))
	}
	return strings.Join(said, "\n")
}

// context makes an answer that adds context, in the form of Claude Code, which Codex also uses.
// Only the person sees the text in the argument person.
func context(e Event, text, person string) any {
	own := struct {
		Event string   `json:"hookEventName"`
		Text  string   `json:"additionalContext,omitempty"`
		Watch []string `json:"watchPaths,omitempty"`
	}{Event: e.Name, Text: text}
	if e.Watch != "" {
		own.Watch = []string{e.Watch}
	}
	answer := map[string]any{}
	if text != "" || e.Watch != "" {
		answer["hookSpecificOutput"] = own
	}
	if person != "" {
		answer["systemMessage"] = person
	}
	return answer
}

// blockOrContext makes an answer. At the event Stop, the answer blocks the end of the turn, and
// text is the reason. At any other event, the answer adds context.
func blockOrContext(e Event, text, person string) any {
	if e.Name != "Stop" {
		return context(e, text, person)
	}
	answer := map[string]string{}
	if text != "" {
		answer["decision"], answer["reason"] = "block", text
	}
	if person != "" {
		answer["systemMessage"] = person
	}
	return answer
}
