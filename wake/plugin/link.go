// Package plugin carries mail through a plugin of ours. The plugin runs inside an AI program and has started this
// process. Both write lines of JSON to each other. The plugin names its sessions and what their models have; this
// process gives it messages. The plugin keeps what it was given, so that a message that is offered again is not shown
// twice.
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
	"sync"

	"c2c/inbox/mail"
	"c2c/wake"
)

// maxLine bounds a line of the plugin, which names sessions and messages and holds no text.
const maxLine = 1 << 20

// fromPlugin is a line of the plugin.
type fromPlugin struct {
	Session string   `json:"session"`
	Shown   bool     `json:"shown"`   // its person works in it now, and in no other one of this client
	Has     []string `json:"has"`     // keys of messages that its model was given
	Refused string   `json:"refused"` // why the client did not take what was offered last
	Does    string   `json:"does"`    // what the session does now, in the words of client
	Works   string   `json:"works"`   // see Link.Worked
	Answers string   `json:"answers"` // see Link.Answered
	Failed  string   `json:"failed"`  // why the session's model gave no answer
}

// toPlugin is a line to the plugin.
type toPlugin struct {
	Session string     `json:"session,omitempty"`
	SID     string     `json:"sid,omitempty"` // the mailbox of the session, when it was asked for
	Mail    []mailItem `json:"mail,omitempty"`
	Begin   bool       `json:"begin,omitempty"` // mail waits, and the client has no session yet
}

// mailItem is one message. The key is the same whenever it is offered, and holds no word of its sender.
type mailItem struct {
	Key  string `json:"key"`
	From string `json:"from,omitempty"` // an alias, or nothing
	Text string `json:"text"`
}

// Link is the connection to the plugin. All of it may be used at once.
type Link struct {
	out       io.Writer
	writing   chan struct{} // a lock on out: full while somebody writes
	mailboxOf func(ctx context.Context, session string) (sid string, err error)
	// Worked, if set before Run, is called for a session that has called a tool (ByTool), a tool or command of c2c's (ByMail), or
	// whose person writes (ByPrompt).
	Worked func(sid, how string)
	// Answered, if set before Run, is called for a session whose model has answered (Answered), will be told of (WillAnswer), or
	// gave no answer: then failed says why.
	Answered func(ctx context.Context, sid, how, failed string)
	moved    chan struct{} // gets a value when another session is shown
	named    chan struct{} // closed when the plugin has named a session

	mu       sync.Mutex
	shown    string
	sessions map[string]*session
	ended    bool
}

// What a plugin tells of a session's work.
const (
	ByTool   = "tool"
	ByMail   = "mail"
	ByPrompt = "prompt"
)

// What a plugin tells of the answers of a session's model.
const (
	Answered   = "seen"
	WillAnswer = "told" // the plugin tells of each
)

// session is one that the plugin has named.
type session struct {
	sid     string
	does    string          // "" until the plugin has told
	tells   int             // how often it has
	has     map[string]bool // of each key that was offered last, whether the model has it
	refused string
	changed chan struct{} // closed and replaced at every change
}

// New makes a link that writes to out. mailboxOf finds or makes the mailbox of a session.
func New(out io.Writer, mailboxOf func(ctx context.Context, session string) (sid string, err error)) *Link {
	return &Link{out: out, writing: make(chan struct{}, 1), mailboxOf: mailboxOf, moved: make(chan struct{}, 1), named: make(chan struct{}), sessions: map[string]*session{}}
}

// Run reads what the plugin says until its end, when the client is gone.
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
	if s.Works != "" || s.Answers == Answered || s.Failed != "" {
		l.recorded(ctx, s)
		return nil
	}
	if s.Has == nil && s.Refused == "" && s.Does == "" {
		sid, err := l.mailboxOf(ctx, s.Session)
		if err != nil { // it costs this session alone
			return l.tell(ctx, toPlugin{Session: s.Session})
		}
		l.show(s, sid)
		if s.Answers != "" {
			l.recorded(ctx, s)
		}
		return l.tell(ctx, toPlugin{Session: s.Session, SID: sid})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.sessions[s.Session]
	if known == nil {
		return nil // what it says of a session that it never named
	}
	for _, key := range s.Has {
		if _, offered := known.has[key]; offered {
			known.has[key] = true
		}
	}
	if s.Does != "" {
		known.does = s.Does
		known.tells++
	}
	if s.Refused != "" { // kept until the next offer
		known.refused = s.Refused
	}
	close(known.changed)
	known.changed = make(chan struct{})
	return nil
}

// recorded passes on what the plugin tells of the work and the answers of a session that it has named.
func (l *Link) recorded(ctx context.Context, s fromPlugin) {
	l.mu.Lock()
	known := l.sessions[s.Session]
	l.mu.Unlock()
	switch {
	case known == nil:
	case s.Works != "" && l.Worked != nil:
		l.Worked(known.sid, s.Works)
	case s.Works == "" && l.Answered != nil:
		l.Answered(ctx, known.sid, s.Answers, s.Failed)
	}
}

// show makes a session known, and the shown one if the plugin says so.
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

// tell writes a line to the plugin, or returns when ctx ends: a write that is blocked for good is left behind.
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

// Knows says whether the plugin has named a session.
func (l *Link) Knows(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[id] != nil
}

// Shows says whether a session is the one in which its person works.
func (l *Link) Shows(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown == id
}

// Moved gets a value when the plugin has named a session.
func (l *Link) Moved() <-chan struct{} { return l.moved }

// Begin has the client begin a session, and returns when the plugin has named the one with this id, or ctx ends: the
// session that begins may have another id.
func (l *Link) Begin(ctx context.Context, id string) error {
	if err := l.tell(ctx, toPlugin{Begin: true}); err != nil {
		return err
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

// Follow tells what a session does, whenever the plugin says so, until ctx ends: that may be what it said last, when somebody
// else has told of a change in between.
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

// Carry implements wake.Carrier. It waits for as long as the client has the messages and its model not: a busy
// model gets them with its next step.
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
		over := ctx.Err() != nil // asked first: what the plugin has said before the end counts
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
		sum := sha256.Sum256([]byte(text))
		if i == 0 {
			text = mail.Preface(msgs) + "\n" + text // the client shows it to its model as its user's words
		}
		offer.Mail = append(offer.Mail, mailItem{hex.EncodeToString(sum[:16]), m.Sender(), text})
	}
	return offer
}

// expect makes an offer the last one, and drops what the client has refused before; it is false when the link has ended.
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

// state says what of the last offer the model of a session has, and gives a channel that tells of more. It fails when
// there is no more to wait for.
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
