package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"c2c/inbox/archive"
	"c2c/inbox/fields"
	"c2c/inbox/mail"
	"c2c/live"
	"c2c/ringer"
	"c2c/wake"
)

// monitor writes the events of the root as lines, as the original's monitor does: programs read them.
type monitor struct {
	out  io.Writer
	json bool

	alias  string // whose mail is shown; "" for all
	id     string // the session of that alias, if it has one
	all    bool
	from   string
	self   bool // also what alias has sent
	full   bool
	read   bool // messages are told when they are read, not when they are stored
	drains bool
	sweeps bool
}

// errGone says that nobody reads the lines any more.
var errGone = errors.New("nobody reads any more")

func (c *call) monitor(ctx context.Context) error {
	m := monitor{out: &mail.VisibleWriter{W: c.stdout}}
	root := c.Text("broker-root")
	c.TextVar(&m.alias, "alias")
	c.TextVar(&m.from, "from")
	for p, name := range map[*bool]string{&m.json: "json", &m.all: "all", &m.self: "include-self", &m.full: "full-body", &m.read: "archive", &m.drains: "drains", &m.sweeps: "sweeps"} {
		c.BoolVar(p, name)
	}
	if _, err := c.words(); err != nil {
		return err
	}
	if *root != "" {
		getenv := c.getenv
		c.app.getenv = func(name string) string {
			if name == "C2C_MCP_BROKER_ROOT" {
				return *root
			}
			return getenv(name)
		}
	}
	signal.Ignore(syscall.SIGPIPE) // which would end us with a signal
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if out, ok := c.stdout.(*os.File); ok {
		go func() { // ends with the program: nothing else wakes it
			if hungUp(out) {
				stop(errGone)
			}
		}()
	}
	if m.alias == "" {
		m.alias = c.getenv("C2C_MCP_SESSION_ID")
	}
	defer c.app.ringer(ringer.Scope{}).StartKeeping(ctx)()
	for {
		err := c.follow(ctx, &m)
		if errors.Is(err, syscall.EPIPE) || ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, live.ErrReplaced) {
			return err
		}
	}
}

// follow tells what happens in the root, once it is there, until it is removed or made anew.
func (c *call) follow(ctx context.Context, m *monitor) error {
	if err := c.awaitRoot(ctx, c.tellWait); err != nil {
		return err
	}
	b, err := c.open(c.log)
	if err != nil {
		return err
	}
	defer b.Close()
	first := true
	return live.New(live.Config{Broker: b}).Run(ctx, func(u live.Update) error {
		if !m.find(u.Sessions) && first {
			fmt.Fprintf(c.stderr, "c2c: nobody is called %q yet: c2c list shows all of this project\n", mail.Visible(m.alias, ""))
		}
		ready := first && m.json
		first = false
		if ready { // what comes now is told
			if err := m.event("monitor.ready", ""); err != nil {
				return err
			}
		}
		for _, e := range u.Events {
			if err := m.tell(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// find looks for the session that the monitor is run for, if it is for one: a session id was given, or an alias.
func (m *monitor) find(sessions []live.Session) bool {
	for _, s := range sessions {
		if m.alias != "" && (s.ID == m.alias || s.ID == m.id || strings.EqualFold(s.Alias, m.alias)) {
			m.alias, m.id = s.Alias, s.ID
			return true
		}
	}
	return m.alias == ""
}

// hungUp waits until nobody reads what is written to a pipe. It is false when that cannot be told.
func hungUp(out *os.File) bool {
	if info, err := out.Stat(); err != nil || info.Mode().IsRegular() {
		return false
	}
	for {
		poll := []unix.PollFd{{Fd: int32(out.Fd())}}
		_, err := unix.Poll(poll, -1)
		if err == nil {
			return true
		}
		if err != unix.EINTR {
			return false
		}
	}
}

// isMine says whether a message is for the session that the monitor is run for. A mailbox may have no session in the list.
func (m *monitor) isMine(e live.Event) bool {
	return m.alias == "" || e.SessionID == cmp.Or(m.id, m.alias) || strings.EqualFold(e.Message.To, m.alias)
}

// wants says whether a message is to be shown.
func (m *monitor) wants(e live.Event) bool {
	return (m.all || m.isMine(e)) && (m.from == "" || strings.EqualFold(e.Message.From, m.from)) &&
		(m.self || m.alias == "" || !strings.EqualFold(e.Message.From, m.alias))
}

func (m *monitor) tell(e live.Event) error {
	switch e.What {
	case live.Stored, live.Read, live.Handed, live.Back, live.Dead:
		return m.mail(e)
	case live.Came:
		return m.session("peer.alive", "🟢  PEER   "+m.name(e)+" ("+e.Why+")", e)
	case live.Went:
		return m.session("peer.dead", "🔴  PEER   "+m.name(e)+" ("+cmp.Or(e.Why, "not registered any more")+")", e)
	case live.Drained:
		if m.drains {
			return m.session("drain", "📤  DRAIN  "+m.name(e)+" (inbox cleared)", e)
		}
	case live.Removed:
		if m.sweeps {
			return m.session("sweep", "🗑️  SWEEP  "+m.name(e)+" (inbox deleted)", e)
		}
	case live.Damaged:
		return m.session("mailbox.damaged", "mailbox of "+m.name(e)+" is damaged: "+e.Why, e)
	case live.Changed:
		if m.others() {
			return m.session("peer.changed", m.name(e)+" is "+e.Why, e)
		}
	case live.Rung, live.NotRung:
		if m.others() {
			return m.session("peer."+e.What, m.name(e)+": "+ringWords(e.Ring), e)
		}
	}
	return nil
}

// mail tells what has become of a message. Whoever follows the mail of one session, an agent perhaps, has not asked what
// that session does with it.
func (m *monitor) mail(e live.Event) error {
	told := live.Stored
	if m.read {
		told = live.Read
	}
	switch {
	case !m.wants(e):
		return nil
	case e.What == told:
		return m.message(e)
	case e.What == live.Stored || !m.others():
		return nil
	}
	text := fmt.Sprintf("%s→%s  %s %s", e.Message.From, e.Message.To, mail.ShortID(e.Message.ID), words[e.What])
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return m.event("message."+e.What, text, "from_alias", e.Message.From, "to_alias", e.Message.To, "message_id", e.Message.ID,
		"session_id", e.SessionID, "by", e.By, "reason", e.Why)
}

// words are what a person reads of an event.
var words = map[string]string{live.Handed: "handed", live.Back: "waits again", live.Read: "read", live.Dead: "dead letter"}

// others says whether more than the mail of one session is followed.
func (m *monitor) others() bool { return m.all || m.alias == "" }

func (m *monitor) name(e live.Event) string { return cmp.Or(e.Alias, e.SessionID) }

func (m *monitor) session(kind, text string, e live.Event) error {
	return m.event(kind, text, "alias", m.name(e), "session_id", e.SessionID, "reason", cmp.Or(e.Why, e.Ring.Cause), "by", e.Ring.Method)
}

// Bytes of a body in a line.
const snippet = 80

// message tells of a message. The original's plugin looks for these signs.
func (m *monitor) message(e live.Event) error {
	if m.json {
		line, err := e.Message.MarshalJSON()
		if m.read && err == nil {
			line, err = archive.Record{Message: e.Message, DrainedAt: mail.Seconds(e.At), DrainedBy: e.By, SessionID: e.SessionID}.MarshalJSON()
		}
		if err != nil {
			return err
		}
		return m.write(append(append(m.head("message"), ','), line[1:]...))
	}
	sign, to := "💬", e.Message.To
	if m.isMine(e) {
		sign = "📬"
		if m.alias != "" {
			to = "you"
		}
	}
	text := strings.TrimSpace(e.Message.Content)
	if !m.full {
		text = strings.Join(strings.Fields(text), " ")
		if cut := whole(text, snippet); cut < len(text) {
			text = text[:cut] + "…"
		}
	}
	from := e.Message.From
	if e.Message.External {
		from += " (outside)"
	}
	return m.event("", fmt.Sprintf("%s  %s→%s  \"%s\"", sign, from, to, text))
}

// whole is where a text of at most so many bytes ends with a whole character.
func whole(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}

// head begins an event in JSON: its kind, and when it was told.
func (m *monitor) head(kind string) []byte {
	now := time.Now()
	return fmt.Appendf(nil, `{"event_type":%q,"monitor_ts":"%d.%03d"`, kind, now.Unix(), now.Nanosecond()/1e6)
}

// event writes one line: the text, or JSON with the pairs of names and values, without those that are empty.
func (m *monitor) event(kind, text string, pairs ...string) error {
	if !m.json {
		// One event is one line, whatever is in a body.
		text = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\r", `\n`).Replace(text)
		return m.write([]byte(time.Now().Format("[15:04:05] ") + mail.Visible(text, "\t")))
	}
	line := m.head(kind)
	for ; len(pairs) > 1; pairs = pairs[2:] {
		if pairs[1] != "" {
			line = fields.AppendText(append(fields.AppendText(append(line, ','), pairs[0]), ':'), pairs[1])
		}
	}
	return m.write(append(line, '}'))
}

func (m *monitor) write(line []byte) error {
	_, err := m.out.Write(append(line, '\n'))
	return err
}

func ringWords(r wake.Ring) string {
	if r.Outcome == wake.Rang {
		return "was rung by " + r.Method
	}
	return strings.TrimSuffix("was not rung: "+r.Outcome+", "+r.Cause, ", ")
}
