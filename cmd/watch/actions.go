package watch

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/rooms"
	"c2c/serve/live"
	"c2c/sessions"
)

// patience is how long an action may wait for a lock.
const patience = 10 * time.Second

// job calls the function do in the background. Then it shows the returned text or error, and calls
// the returned function, if there is one.
func (a *app) job(do func(context.Context, *broker.Broker) (says string, then func(), err error)) {
	b := a.b
	a.background(func() func() {
		ctx, cancel := context.WithTimeout(a.ctx, patience)
		defer cancel()
		says, then, err := do(ctx, b)
		return func() {
			if a.says = says; err != nil {
				a.says = err.Error()
			}
			if then != nil {
				then()
			}
		}
	})
}

// status returns the text above the last line of the screen: the result of the last action in at
// most limit lines, or the selection if there is no such result.
func (a *app) status(columns, limit int) []string {
	if a.says != "" {
		lines := wrap(word(a.says), columns)
		return lines[:min(limit, len(lines))]
	}
	return []string{a.selection()}
}

// selection describes the selected session or message.
func (a *app) selection() string {
	s := a.session()
	if !a.onList || s == nil {
		if m := a.pane().message(); m != nil && !a.onList {
			if w := m.waits; w != nil {
				return word(strings.Trim(m.Content+" · "+w.Oldest.Why, " ·"))
			}
			return word(fmt.Sprintf("%s: %s", mail.ShortID(m.ID), m.became()))
		}
		return ""
	}
	text := fmt.Sprintf("%s is %s", s.Alias, s.Now.Does)
	if s.Now.Does == sessions.Waiting {
		text += " for its person"
	}
	if !s.Now.Since.IsZero() {
		text += " since " + clock(s.Now.Since)
	}
	for _, more := range []string{s.Client, s.Role, s.Error} {
		if more != "" {
			text += " · " + more
		}
	}
	if s.Quiet {
		text += " · do not disturb"
	}
	if !s.Oldest.IsZero() && s.Count > 0 {
		text += " · oldest mail " + clock(s.Oldest)
	}
	if !s.LastRead.IsZero() {
		text += " · last got mail " + clock(s.LastRead)
	}
	return word(text)
}

// compose opens the editor for a message to the selected session, or to the sender of the selected
// message.
func (a *app) compose() {
	to := ""
	if s := a.session(); s != nil {
		to = s.Alias
	} else if m := a.pane().message(); m != nil && !a.onList {
		to = m.From
	}
	if to == "" {
		a.typing = &editor{title: "write to", one: true, done: a.composeTo}
		return
	}
	a.writeTo(to)
}

// composeTo opens the editor for a message to a typed name, or for a post to #room. The beginning
// of a name is enough if it is unique.
func (a *app) composeTo(name string) {
	if room := mail.RoomOf(name); room != "" && strings.HasPrefix(name, "#") {
		a.edit("to #"+room, func(ctx context.Context, b *broker.Broker, from sessions.Session, text string) (string, error) {
			return posted(rooms.Publish(ctx, b, from, rooms.Draft{Room: room, Message: mail.Message{Content: text}}))
		})
		return
	}
	var all, begin []string
	for _, s := range a.all {
		all = append(all, s.Alias)
		if strings.HasPrefix(strings.ToLower(s.Alias), strings.ToLower(name)) {
			begin = append(begin, s.Alias)
		}
		if strings.EqualFold(s.Alias, name) {
			begin = []string{s.Alias}
			break
		}
	}
	if len(begin) == 1 {
		a.writeTo(begin[0])
		return
	}
	a.says = fmt.Sprintf("no session is called %q", name)
	if len(begin) == 0 {
		begin = sessions.Closest(name, all)
	}
	if len(begin) > 0 {
		a.says += ": " + strings.Join(begin[:min(len(begin), 5)], ", ") + "?"
	}
}

func (a *app) writeTo(to string) {
	a.edit("to "+word(to), func(ctx context.Context, b *broker.Broker, from sessions.Session, text string) (string, error) {
		return queued(b.Send(ctx, from, mail.Message{To: to, Content: text}))
	})
}

// queued returns a sentence about a message that was sent.
func queued(r broker.Receipt, err error) (says string, _ error) {
	says = fmt.Sprintf("queued for %s as %s", r.To, mail.ShortID(r.ID))
	if r.Note != "" {
		says += "; " + r.Note
	}
	return says, err
}

func posted(r rooms.Receipt, err error) (says string, _ error) { return r.String(), err }

// reply opens the editor for an answer to the selected message. An answer to a post goes to its
// room.
func (a *app) reply() {
	m := a.pane().message()
	if m == nil {
		a.says = "there is no message to answer"
		return
	}
	a.edit(fmt.Sprintf("to %s, about %s", word(m.From), word(mail.ShortID(m.ID))), func(ctx context.Context, b *broker.Broker, from sessions.Session, text string) (string, error) {
		if mail.RoomOf(m.To) != "" {
			return posted(rooms.ReplyToPost(ctx, b, from, m.Message, rooms.Draft{Message: mail.Message{Content: text}}))
		}
		return queued(b.Reply(ctx, from, m.Message, mail.Message{Content: text}))
	})
}

// edit opens the editor. When the person has finished the text, the function send sends it from the
// person's session.
func (a *app) edit(title string, send func(context.Context, *broker.Broker, sessions.Session, string) (says string, err error)) {
	text := a.drafts[title]
	a.typing = &editor{title: title, text: text, at: len(text), done: func(text string) {
		a.says = "sending"
		a.job(func(ctx context.Context, b *broker.Broker) (string, func(), error) {
			from, err := a.cfg.Who(ctx, b)
			says := ""
			if err == nil {
				says, err = send(ctx, b, from, text)
			}
			if err != nil {
				return "", func() { a.keep(title, text) }, fmt.Errorf("not sent %s, and kept: %w", title, err)
			}
			return says, nil, nil
		})
	}}
}

// keep returns an unsent text to the editor with this title, before other text. If this editor is
// not open, the text appears when it is opened the next time.
func (a *app) keep(title, text string) {
	kept := []rune(text)
	if e := a.typing; e != nil && e.title == title {
		e.text, e.at = slices.Concat(kept, []rune("\n"), e.text), e.at+len(kept)+1
		return
	}
	if later := a.drafts[title]; len(later) > 0 {
		kept = slices.Concat(kept, []rune("\n"), later)
	}
	a.drafts[title] = kept
}

// tellDrafts prints the texts that were typed and not sent. Otherwise they would be lost with the
// screen.
func (a *app) tellDrafts(out io.Writer) {
	if e := a.typing; e != nil && !e.one {
		a.drafts[e.title] = e.text
	}
	for _, title := range slices.Sorted(maps.Keys(a.drafts)) {
		if text := strings.TrimSpace(clean(string(a.drafts[title]))); text != "" {
			fmt.Fprintf(out, "c2c: not sent %s:\n    %s\n", title, strings.ReplaceAll(text, "\n", "\n    "))
		}
	}
}

// finish closes the editor, and passes its text on.
func (a *app) finish() {
	e := a.typing
	text := strings.TrimSpace(string(e.text))
	delete(a.drafts, e.title)
	if a.typing = nil; text != "" {
		e.done(text)
	}
}

// thread shows the whole conversation of the selected message.
func (a *app) thread() {
	m := a.pane().message()
	if m == nil {
		return
	}
	a.job(func(ctx context.Context, b *broker.Broker) (string, func(), error) {
		all, more, err := b.Thread(ctx, m.ID)
		if len(all) == 0 {
			return "", nil, err
		}
		says := ""
		if more {
			says = "there are more messages in this thread"
		}
		return says, func() {
			a.open("thread of "+mail.ShortID(m.ID), all, m.ID)
			a.found.thread = true
		}, err
	})
}

// search asks the person for words and shows the messages that contain them.
func (a *app) search() {
	a.typing = &editor{title: "search", one: true, done: func(text string) {
		a.says = "searching"
		a.job(func(ctx context.Context, b *broker.Broker) (string, func(), error) {
			// A person may see the mail of all sessions.
			all, err := b.Search(ctx, sessions.Session{State: sessions.Person, KnownBy: mail.ByPerson}, strings.Fields(text), 200)
			slices.Reverse(all) // the newest last, as in the flow
			return format.Count(len(all), "message", "messages") + " found", func() { a.open("found: "+text, all, "") }, err
		})
	}}
}

// open shows messages in front of the flow, and selects the message with this id.
func (a *app) open(title string, all []broker.Mail, id string) {
	p := &pane{title: word(title), whole: true}
	for _, found := range all {
		st := found.Status
		m := &mailView{Message: found.Message, fate: a.known.Known(found.Fingerprint())}
		if m.fate == nil {
			m.fate = &live.Mail{SessionID: st.SessionID, State: st.State, At: st.At, HandedAt: st.HandedAt}
		}
		p.mails = append(p.mails, m)
		if p.selected == nil || m.ID == id {
			p.selected = m
		}
	}
	a.found, a.onList, a.view = p, false, inMail
}

// why shows why nobody has read the selected message yet.
func (a *app) why() {
	m := a.pane().message()
	if m == nil {
		return
	}
	a.job(func(ctx context.Context, b *broker.Broker) (string, func(), error) {
		st, err := b.Status(ctx, m.ID)
		if err != nil {
			return "", nil, err
		}
		var lines []string
		for _, s := range append([]broker.MessageStatus{st}, st.Others...) {
			lines = append(lines, fmt.Sprintf("%s, from %s to %s: %s", mail.ShortID(s.ID), s.From, s.To, s.State), "")
			for _, more := range []string{s.Why, s.Do} { // these come before s.Way, because a small screen cuts off the last lines
				if more != "" {
					lines = append(lines, more, "")
				}
			}
			lines = append(append(lines, s.Way...), "")
		}
		return "", func() {
			if a.typing == nil { // otherwise the box would take the keys from the editor
				a.box = cleanAll(lines)
			}
		}, nil
	})
}

func cleanAll(lines []string) []string {
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return lines
}

// toggleQuiet changes whether mail wakes the picked session.
func (a *app) toggleQuiet() {
	s := a.session()
	if s == nil {
		a.says = "pick a session first"
		return
	}
	id, alias, quiet := s.ID, s.Alias, !s.Quiet
	a.job(func(ctx context.Context, b *broker.Broker) (string, func(), error) {
		if err := b.SetQuiet(ctx, id, quiet); err != nil {
			return "", nil, err
		}
		if quiet {
			return alias + ": mail waits for its next turn", nil, nil
		}
		return alias + ": mail wakes it", nil, nil
	})
}

// takeMine marks the person's own mail as read, as far as it is in the flow. Newer mail waits.
func (a *app) takeMine() {
	seen := map[mail.Fingerprint]bool{}
	for _, m := range a.mails {
		seen[m.fate.Key] = true
	}
	a.job(func(ctx context.Context, b *broker.Broker) (string, func(), error) {
		who, err := a.cfg.Who(ctx, b)
		if err != nil {
			return "", nil, err
		}
		box, err := b.Mailbox(who.ID)
		if err != nil {
			return "", nil, err
		}
		l, err := box.Lease(ctx, inbox.ByWatch, 1<<20)
		if err != nil {
			return "", nil, err
		}
		var read []string
		for _, m := range l.Messages {
			if seen[m.Fingerprint()] {
				read = append(read, m.Handle())
			}
		}
		says := who.Alias + ": " + format.Count(len(read), "message", "messages") + " read"
		if more := len(l.Messages) - len(read); more > 0 {
			says += fmt.Sprintf("; not shown here, and left: %d. c2c poll-inbox shows them", more)
		}
		return says, nil, l.Ack(ctx, read...)
	})
}
