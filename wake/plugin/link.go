// Package plugin gives mail to an AI program through c2c's plugin. The plugin runs inside the
// program and has started this process. The plugin and this process write lines of JSON to each
// other. The plugin reports its sessions, and which messages their models have; this process offers
// messages to the plugin. The plugin remembers the messages that it got. If this process offers a
// message again, the plugin does not show it again.
package plugin

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/wake"
)

// maxLine is the largest length of a line from the plugin, in bytes. Such lines contain ids of
// sessions and messages, but no text of messages.
const maxLine = 1 << 20

// fromPlugin is a line from the plugin.
type fromPlugin struct {
	Session string   `json:"session"`
	Shown   bool     `json:"shown"`   // the client shows this session to the person now
	Has     []string `json:"has"`     // keys of messages that the session's model got
	Refused string   `json:"refused"` // why the client did not take the last offer
	Does    string   `json:"does"`    // what the session does now, in the words of package client
	Works   string   `json:"works"`   // see Link.Worked
	Answers string   `json:"answers"` // see Link.Answered
	Failed  string   `json:"failed"`  // why the session's model gave no answer
	Call    string   `json:"call"`    // the id of a tool call that is about to change the files in Edits, and waits for an answer
	Edits   []string `json:"edits"`   // absolute paths of files
	News    bool     `json:"news"`    // the plugin asks for new posts of rooms, for a turn about to begin; Call is the question's id
}

// toPlugin is a line to the plugin.
type toPlugin struct {
	Session string     `json:"session,omitempty"`
	SID     string     `json:"sid,omitempty"` // the id of the session's mailbox, in the answer to a line that names a session
	Mail    []mailItem `json:"mail,omitempty"`
	Begin   bool       `json:"begin,omitempty"`   // asks the client to begin a session, because mail waits and the client has no session yet
	Call    string     `json:"call,omitempty"`    // set in an answer to a line with a Call: the id from that line
	Warning string     `json:"warning,omitempty"` // what the model gets with the result of the change; see Link.Edits
	Refusal string     `json:"refusal,omitempty"` // why the session must not make the change
	News    *mailItem  `json:"news,omitempty"`    // in the answer to a line with News: what to put beside the message that begins the turn
}

// mailItem is one message, or a text about new posts. Its key is the same in each offer, and
// contains no text of the sender.
type mailItem struct {
	Key  string `json:"key"`
	From string `json:"from,omitempty"` // an alias, or empty
	Text string `json:"text"`
}

// Link is the connection to the plugin. Its methods may be called from several goroutines at once.
type Link struct {
	out       io.Writer
	writing   chan struct{} // a lock on the field out: full during a write
	mailboxOf func(ctx context.Context, session string) (sid string, err error)
	// Run calls Worked, if set, when a session has worked. The argument how is the kind of work: a
	// call of a tool (ByTool), a call of a tool or command of c2c (ByMail), or a prompt of the
	// person (ByPrompt).
	Worked func(sid, how string)
	// Run calls Answered, if set, when a session's model has answered (how is the constant
	// Answered) or has given no answer (failed says why). Run also calls it once when the plugin
	// announces that it will report the session's answers (how is WillAnswer).
	Answered func(ctx context.Context, sid, how, failed string)
	// Run calls Begun, if set, when a turn of a session has begun. The carrier brings mail into the
	// turn.
	Begun func(sid string, c wake.Carrier)
	// Run calls Edits, if set, before a session changes files. If refused is true, the session must
	// not make the change, and text says why. Otherwise text is a warning that the model gets with
	// the result of the change; "": no warning.
	Edits func(ctx context.Context, sid string, paths []string) (text string, refused bool)
	// Run calls News, if set, when a turn of a session is about to begin. News returns a text about
	// the new posts of the session's rooms, or "". Run calls seen when the session's model has the
	// text.
	News  func(ctx context.Context, sid string) (text string, seen func())
	moved chan struct{} // gets a value when the plugin has named a session
	named chan struct{} // closed when the plugin has named its first session

	mu       sync.Mutex
	shown    string              // the session that the client shows to the person
	sessions map[string]*session // by the client's id
	ended    bool                // the client has ended the input of Run
}

// The kinds of work that a plugin reports: see Link.Worked.
const (
	ByTool   = "tool"
	ByMail   = "mail"
	ByPrompt = "prompt"
)

// The reports of a plugin about the answers of a session's model.
const (
	Answered   = "seen" // the model has answered
	WillAnswer = "told" // the plugin will report each answer
)

// session is a session that the plugin has named.
type session struct {
	sid     string
	does    string          // "" until the plugin has reported it
	tells   int             // how often the plugin has reported a value for does
	has     map[string]bool // for each key of the last offer, whether the model has it
	refused string          // why the client did not take the last offer
	news    string          // the key of the last text of News that the plugin got
	seen    func()          // to be called when the model has that text; nil: there is none
	changed chan struct{}   // closed and replaced at every change
}

// New makes a link that writes to out. The function mailboxOf finds or makes the mailbox of a
// session.
func New(out io.Writer, mailboxOf func(ctx context.Context, session string) (sid string, err error)) *Link {
	return &Link{out: out, writing: make(chan struct{}, 1), mailboxOf: mailboxOf, moved: make(chan struct{}, 1), named: make(chan struct{}), sessions: map[string]*session{}}
}

// Run reads the plugin's lines until the client ends the input. It returns an error for a line that
// it cannot use.
func (l *Link) Run(ctx context.Context, in io.Reader) error {
	defer l.end()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() && ctx.Err() == nil {
		var s fromPlugin
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return fmt.Errorf("read from the plugin: %w", err)
		}
		if s.Session == "" {
			return fmt.Errorf("read from the plugin: a line of %d bytes names no session", len(lines.Bytes()))
		}
		if err := l.hear(ctx, s); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (l *Link) hear(ctx context.Context, s fromPlugin) error {
	switch {
	case s.Call != "" && s.News:
		return l.tell(ctx, l.newsFor(ctx, s))
	case s.Call != "":
		return l.tell(ctx, l.edited(ctx, s))
	}
	if s.Works != "" || s.Answers == Answered || s.Failed != "" {
		l.recorded(ctx, s)
		return nil
	}
	if s.Has == nil && s.Refused == "" && s.Does == "" {
		sid, err := l.mailboxOf(ctx, s.Session)
		if err != nil { // only this session goes without mail
			return l.tell(ctx, toPlugin{Session: s.Session})
		}
		l.show(s, sid)
		if s.Answers != "" {
			l.recorded(ctx, s)
		}
		return l.tell(ctx, toPlugin{Session: s.Session, SID: sid})
	}
	begun, seen := l.report(s)
	if seen != nil {
		seen()
	}
	if begun != "" && l.Begun != nil {
		l.Begun(begun, l.Carrier(s.Session))
	}
	return nil
}

// report records what the plugin reports about a session. If a turn has begun, it returns the id of
// the session's mailbox. If the session's model now has the text of News, it returns the function
// to call.
func (l *Link) report(s fromPlugin) (begun string, seen func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.sessions[s.Session]
	if known == nil {
		return "", nil // ignore reports about a session that the plugin has not named
	}
	for _, key := range s.Has {
		if _, offered := known.has[key]; offered {
			known.has[key] = true
		}
	}
	if slices.Contains(s.Has, known.news) {
		seen, known.seen = known.seen, nil
	}
	if s.Does != "" {
		if s.Does == client.Busy && known.does != client.Busy {
			begun = known.sid
		}
		known.does = s.Does
		known.tells++
	}
	if s.Refused != "" { // a refusal is kept until the next offer
		known.refused = s.Refused
	}
	close(known.changed)
	known.changed = make(chan struct{})
	return begun, seen
}

// recorded calls Worked or Answered for a report about a session that the plugin has named.
func (l *Link) recorded(ctx context.Context, s fromPlugin) {
	known := l.known(s.Session)
	switch {
	case known == nil:
	case s.Works != "" && l.Worked != nil:
		l.Worked(known.sid, s.Works)
	case s.Works == "" && l.Answered != nil:
		l.Answered(ctx, known.sid, s.Answers, s.Failed)
	}
}

// edited answers a line about a tool call that changes files. If the plugin has not named the
// session, the answer allows the change.
func (l *Link) edited(ctx context.Context, s fromPlugin) toPlugin {
	answer := toPlugin{Session: s.Session, Call: s.Call}
	known := l.known(s.Session)
	if known == nil || l.Edits == nil {
		return answer
	}
	if text, refused := l.Edits(ctx, known.sid, s.Edits); refused {
		answer.Refusal = text
	} else {
		answer.Warning = text
	}
	return answer
}

// newsFor answers a question for the new posts of a session's rooms.
func (l *Link) newsFor(ctx context.Context, s fromPlugin) toPlugin {
	answer := toPlugin{Session: s.Session, Call: s.Call}
	known := l.known(s.Session)
	if known == nil || l.News == nil {
		return answer
	}
	text, seen := l.News(ctx, known.sid)
	if text == "" {
		return answer
	}
	answer.News = &mailItem{Key: keyOf(text), Text: text}
	l.mu.Lock()
	defer l.mu.Unlock()
	known.news, known.seen = answer.News.Key, seen
	return answer
}

// show records a session and its mailbox, and whether the client shows the session.
func (l *Link) show(s fromPlugin, sid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sessions) == 0 {
		close(l.named)
	}
	if l.sessions[s.Session] == nil {
		l.sessions[s.Session] = &session{changed: make(chan struct{})}
	}
	l.sessions[s.Session].sid = sid
	if s.Shown {
		l.shown = s.Session
	}
	select {
	case l.moved <- struct{}{}:
	default:
	}
}

func (l *Link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, s := range l.sessions {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// tell writes a line to the plugin. It also returns when ctx ends; if the write still blocks then,
// a goroutine goes on with the write.
func (l *Link) tell(ctx context.Context, t toPlugin) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	select {
	case l.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	written := make(chan error, 1)
	go func() {
		_, err := l.out.Write(append(line, '\n'))
		<-l.writing
		written <- err
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Knows reports whether the plugin has named a session.
func (l *Link) Knows(id string) bool { return l.known(id) != nil }

func (l *Link) known(id string) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[id]
}

// Shows reports whether the client shows this session now.
func (l *Link) Shows(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown == id
}

// The channel Moved gets a value when the plugin has named a session.
func (l *Link) Moved() <-chan struct{} { return l.moved }

// Begin makes the client begin a session. It returns nil when the plugin has named a session with
// this id. If the new session has another id, Begin waits until ctx ends.
func (l *Link) Begin(ctx context.Context, id string) error {
	select {
	case <-l.named: // a session has begun meanwhile, and gets the mail of this ring
	default:
		if err := l.tell(ctx, toPlugin{Begin: true}); err != nil {
			return err
		}
	}
	select {
	case <-l.named:
		if l.Knows(id) {
			return nil
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// Follow returns a function that, until ctx ends, calls tell for each report of the plugin about
// what the session does. It does so even if a report has the same word as the last one, because
// another process may have recorded another state in between.
func (l *Link) Follow(id string) func(ctx context.Context, tell func(does string)) {
	return func(ctx context.Context, tell func(does string)) {
		told := 0
		for {
			l.mu.Lock()
			s := l.sessions[id]
			ended := l.ended || s == nil
			var does string
			var tells int
			var changed <-chan struct{}
			if !ended {
				does, tells, changed = s.does, s.tells, s.changed
			}
			l.mu.Unlock()
			if ended {
				return
			}
			if tells != told {
				told = tells
				tell(does)
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}
}

// Carrier carries mail to a session that the plugin has named.
func (l *Link) Carrier(id string) wake.Carrier { return carrier{l, id} }

type carrier struct {
	link *Link
	id   string
}

// Carry implements wake.Carrier. It waits until the model has the messages. A model that is working
// gets them with its next step.
func (c carrier) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	offer := offerOf(c.id, msgs)
	if !c.link.expect(offer) {
		return nil, wake.ErrUnreachable
	}
	if err := c.link.tell(ctx, offer); err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: %w", wake.ErrUnreachable, err)
	}
	for {
		over := ctx.Err() != nil // checked before the call of state, so that all reports before the end of ctx count
		has, changed, err := c.link.state(c.id)
		had = had[:0]
		for i, m := range offer.Mail {
			if has[m.Key] {
				had = append(had, msgs[i].Handle())
			}
		}
		if err != nil || len(had) == len(msgs) {
			return had, err
		}
		if over {
			return had, context.Cause(ctx)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

func offerOf(id string, msgs []mail.Message) toPlugin {
	offer := toPlugin{Session: id}
	for i, m := range msgs {
		text := m.Envelope()
		key := keyOf(text)
		if i == 0 {
			text = mail.Preface(msgs) + "\n" + text // the client gives the text to its model as the user's words
		}
		offer.Mail = append(offer.Mail, mailItem{key, m.Sender(), text})
	}
	return offer
}

func keyOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// expect records an offer as the last offer, and forgets earlier refusals of the client. It returns
// false if the link has ended or the session is unknown.
func (l *Link) expect(offer toPlugin) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[offer.Session]
	if s == nil || l.ended {
		return false
	}
	has := map[string]bool{}
	for _, m := range offer.Mail {
		has[m.Key] = s.has[m.Key]
	}
	s.has, s.refused = has, ""
	return true
}

// state returns which messages of the last offer a session's model has, and a channel that is
// closed at the next change. After an error the caller need not wait for a change.
func (l *Link) state(id string) (has map[string]bool, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	switch {
	case l.ended:
		err = wake.ErrUnreachable
	case s.refused != "":
		err = fmt.Errorf("%w: %q", wake.ErrUncaptured, s.refused)
	}
	return maps.Clone(s.has), s.changed, err
}
