package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/rooms"
)

// showSent shows the messages that a session has sent.
func (c *call) showSent(ctx context.Context, limit int) error {
	s, err := c.acting(ctx)
	if err != nil {
		return err
	}
	sent, err := c.b.Outbox(ctx, s, limit)
	return errors.Join(c.show(append([]broker.Mail{}, sent...), func() {
		words := firstWords(len(sent) > 0 && c.forPerson(ctx))
		c.table(sent, func(m broker.Mail) []string {
			return []string{mail.ShortID(m.ID), clock(m.Time()), "to " + m.To, became(m), words40(m.Message, words)}
		})
	}), err)
}

// search finds the messages with the given words, among those that a session has sent or received,
// and among the posts of its rooms.
func search(c *call, f *cli.Flags) action {
	limit := f.Int("limit")
	return func(ctx context.Context) error {
		if strings.TrimSpace(strings.Join(c.words, "")) == "" {
			return fmt.Errorf("%w: which words?", errUsage)
		}
		most, err := newest(*limit)
		if err != nil {
			return err
		}
		s, err := c.acting(ctx)
		if err != nil {
			return err
		}
		found, err := rooms.SearchPosts(ctx, c.b, s, c.words, max(most, most+1)) // without a limit the sum overflows
		if len(found) > most {
			found = found[:most]
			fmt.Fprintf(c.stderr, "c2c: these are the newest %d; --limit 0 shows all\n", most)
		}
		return errors.Join(c.show(append([]broker.Mail{}, found...), func() {
			person := len(found) > 0 && c.forPerson(ctx)
			if len(found) > 0 && !person {
				fmt.Fprintln(c.stdout, preface(found))
			}
			c.table(found, func(m broker.Mail) []string {
				return []string{mail.ShortID(m.ID), clock(m.Time()), m.Who() + " to " + m.To, around(m.Message, c.words, firstWords(person))}
			})
		}), err)
	}
}

// showThread shows the conversation around a message.
func (c *call) showThread(ctx context.Context, id string) error {
	all, more, err := c.b.Thread(ctx, id)
	if len(all) == 0 {
		return err
	}
	told := c.show(all, func() { c.printThread(ctx, all) })
	if more {
		fmt.Fprintf(c.stderr, "c2c: the conversation is longer than these %d messages\n", len(all))
	}
	return errors.Join(told, err)
}

// printThread prints a conversation: in plain form for a person (printOf), otherwise in envelopes.
func (c *call) printThread(ctx context.Context, all []broker.Mail) {
	if !c.forPerson(ctx) {
		fmt.Fprintln(c.stdout, preface(all))
		for _, m := range all {
			c.printf("# %s to %s: %s\n", nameOf(m.From), nameOf(m.To), became(m))
			fmt.Fprintln(c.stdout, m.EnvelopeAt(time.Now()))
		}
		return
	}
	for i, m := range all {
		if i > 0 {
			c.printf("\n")
		}
		c.printOf(m)
	}
}

// preface returns the sentence before envelopes, which says whose words follow.
func preface(all []broker.Mail) string {
	var msgs []mail.Message
	for _, m := range all {
		msgs = append(msgs, m.Message)
	}
	return mail.Preface(msgs)
}

// nameOf returns an alias for display outside an envelope. It returns "?" for text that is no valid
// address, because a peer may have chosen the text.
func nameOf(alias string) string {
	if !mail.IsAddress(alias) {
		return "?"
	}
	return alias
}

// printOf prints a message of a conversation for a person.
func (c *call) printOf(m broker.Mail) {
	c.printf("%s to %s, %s (%s): %s\n", m.From, m.To, clock(m.Time()), notesOf(m.Message), became(m))
	text := m.Content
	if text == "" {
		text = words40(m.Message, mail.Message.PlainWords)
	}
	c.printText(text)
}

// printLetter prints a message for its receiver, who is a person.
func (c *call) printLetter(m mail.Message) {
	c.printf("%s, %s (%s):\n", m.From, clock(m.Time()), notesOf(m))
	c.printText(m.Content)
}

// notesOf returns the short id of a message, with notes such as its kind and its tag.
func notesOf(m mail.Message) string {
	notes := []string{mail.ShortID(m.ID)}
	if m.InReplyTo != "" {
		notes = append(notes, "answers "+mail.ShortID(m.InReplyTo))
	}
	for _, word := range []string{m.Kind, m.Tag} {
		if word != "" {
			notes = append(notes, word)
		}
	}
	if by := mail.By(m); by != "" {
		notes = append(notes, by)
	}
	for _, a := range m.OriginAttributes() {
		notes = append(notes, a[0]+" "+a[1])
	}
	return strings.Join(notes, ", ")
}

// printText indents each line of a message's text, so that no line looks like the head of another
// message.
func (c *call) printText(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		fmt.Fprint(c.stdout, "    "+line)
	}
}

// table prints a line for each message, or says that there is none.
func (c *call) table(all []broker.Mail, row func(broker.Mail) []string) {
	if len(all) == 0 {
		c.printf("(no messages)\n")
	}
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	for _, m := range all {
		cells := row(m)
		for i, cell := range cells {
			cells[i] = mail.Visible(cell, "")
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
}

func became(m broker.Mail) string { return m.Status.Became(time.Now()) }

func clock(at time.Time) string { return format.Clock(at, time.Now()) }

// around returns one line of a message's text: a part with one of the words, or the beginning.
func around(m mail.Message, words []string, first func(mail.Message, int) string) string {
	const before, limit = 15, 45
	text := strings.ToLower(m.Content)
	for _, word := range words {
		if i := strings.Index(text, strings.ToLower(word)); i > before && len(text) == len(m.Content) {
			m.Content = m.Content[i-before:]
			return "…" + first(m, limit)
		}
	}
	return first(m, limit+1)
}

// firstWords returns the method of a message that shows its first words to a person or to a model.
func firstWords(person bool) func(mail.Message, int) string {
	if person {
		return mail.Message.PlainWords
	}
	return mail.Message.FirstWords
}
