package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
)

// startTime is how long the agent may take to answer for the first time.
const startTime = time.Minute

// Codes of the agent's errors.
const (
	methodNotFound = -32601
	wrongState     = -32000 // a turn runs already, or no turn runs
	noModel        = -32001
	unknownModel   = -32002
	modelFailed    = -32003
)

// States of the agent.
const (
	Off      = "off" // the bridge will start the agent when there is mail
	Starting = "starting"
	Working  = "working"
	Idle     = "idle"
	Failed   = "failed" // State.Cause says why; the bridge will try again with the waiting mail
)

// State is what the bridge knows about its agent.
type State struct {
	At       time.Time `json:"at"`
	Agent    string    `json:"agent"`
	Cause    string    `json:"cause,omitempty"`
	Protocol string    `json:"protocol,omitempty"` // the version that the agent speaks
	Approval string    `json:"approval,omitempty"` // the agent's last request for approval, and the answer
}

// Config configures a Bridge.
type Config struct {
	Argv    []string // the agent's command line
	Dir     string   // its working directory
	Env     []string
	Approve bool        // approve every request of the agent; otherwise reject every one
	Version string      // c2c's version
	OnState func(State) // called with each new state, one call at a time
}

// Bridge gives mail to an agent. It starts the agent when there is mail. It implements
// wake.Carrier. Only one goroutine at a time may call Carry, Ready and Close.
type Bridge struct {
	cfg   Config
	agent *agent // nil: no agent runs

	mu    sync.Mutex
	state State
}

// New makes a bridge. It does not start the agent yet.
func New(cfg Config) *Bridge {
	b := &Bridge{cfg: cfg}
	b.setState(func(s *State) { s.Agent = Off })
	return b
}

// Method returns the method that reaches the agent.
func (b *Bridge) Method() wake.Method {
	return wake.Method{Name: wake.ByWire, Carrier: b, Ready: b.Ready, Idempotent: true}
}

// setState changes the state and reports it.
func (b *Bridge) setState(change func(*State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Cause = ""
	change(&b.state)
	b.state.At = time.Now().UTC()
	b.cfg.OnState(b.state)
}

// Ready returns wake.ErrHeld while a turn of the agent runs, if the agent's version of the protocol
// does not let c2c add words to a turn.
func (b *Bridge) Ready(context.Context) error {
	if a := b.agent; a != nil && a.runs() && !a.version.steers() {
		return wake.ErrHeld
	}
	return nil
}

// Check starts the agent and ends it. It returns an error if the program does not speak Wire.
func (b *Bridge) Check(ctx context.Context) error {
	defer b.Close(ctx) // also when ctx ends before the agent has answered
	if err := b.open(ctx); err != nil {
		return b.failed(ctx, err)
	}
	return nil
}

// Carry implements wake.Carrier. The agent takes all of the messages or none.
func (b *Bridge) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	if err := b.open(ctx); err != nil {
		return nil, b.failed(ctx, err)
	}
	b.setState(func(s *State) { s.Agent = Working })
	if err := b.agent.give(ctx, text(msgs)); err != nil {
		return nil, b.failed(ctx, err)
	}
	return inbox.Handles(msgs), nil
}

// text returns what the agent passes to its model as its user's words. The text does not begin with
// a slash, so it is no command.
func text(msgs []mail.Message) string {
	var out strings.Builder
	out.WriteString(mail.Preface(msgs))
	for _, m := range msgs {
		out.WriteString("\n" + m.Envelope())
	}
	return out.String()
}

// failed ends the agent, so that the next try starts a new one. It does not end an agent that was
// only busy.
func (b *Bridge) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil { // the caller gave up; the agent still works
		return context.Cause(ctx)
	}
	if why := (refusal{}); !errors.As(err, &why) || !why.busy {
		b.end()
	}
	b.setState(func(s *State) { s.Agent, s.Cause = Failed, err.Error() })
	return err
}

// open starts an agent if none runs.
func (b *Bridge) open(ctx context.Context) error {
	if b.agent != nil {
		select {
		case <-b.agent.ended: // the agent has ended since the last call
			b.end()
		default:
			return nil
		}
	}
	b.setState(func(s *State) { s.Agent, s.Protocol = Starting, "" })
	a, err := start(b.cfg.Argv, b.cfg.Env, b.cfg.Dir, b.answer, b.turnEnded)
	if err != nil {
		return err
	}
	b.agent = a
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, refusef("the agent did not answer within %v", startTime))
	defer cancel()
	if a.version, err = a.initialize(ctx, b.cfg.Version); err == nil {
		b.setState(func(s *State) { s.Agent, s.Protocol = Idle, a.version.String() })
	}
	return err
}

// turnEnded reports the end of a turn; err is nil if the turn succeeded. It runs in the goroutine
// that reads from the agent.
func (b *Bridge) turnEnded(err error) {
	b.setState(func(s *State) {
		if s.Agent = Idle; err != nil {
			s.Cause = "its last turn: " + err.Error()
		}
	})
}

// Close waits until the agent's turn or ctx ends, and then ends the agent.
func (b *Bridge) Close(ctx context.Context) {
	if b.agent == nil {
		return
	}
	b.agent.idle(ctx)
	b.end()
	if !b.hasFailed() { // keep the state that says why the agent failed
		b.setState(func(s *State) { s.Agent = Off })
	}
}

func (b *Bridge) hasFailed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Agent == Failed
}

func (b *Bridge) end() {
	if b.agent != nil {
		b.agent.close()
		b.agent = nil
	}
}

// answer answers a request of the agent. Only requests for approval come, because the call of
// initialize has told the agent that c2c supports no others.
func (b *Bridge) answer(r request) (result any, known bool) {
	if r.Type != "ApprovalRequest" {
		return nil, false
	}
	var p struct{ ID, Sender, Action, Description string }
	if json.Unmarshal(r.Payload, &p) != nil {
		return nil, false
	}
	said := map[string]string{"request_id": p.ID, "response": "reject"}
	if b.cfg.Approve {
		said["response"] = "approve"
	}
	b.setState(func(s *State) {
		s.Approval = fmt.Sprintf("%s asked to %s (%s): %s", cut(p.Sender), cut(p.Action), cut(p.Description), said["response"])
	})
	return said, true
}

// cut shortens text from the agent, and puts it on one line.
func cut(text string) string {
	return fmt.Sprintf("%.200s", strings.Join(strings.Fields(text), " "))
}

// version is a version of the protocol.
type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// steers is true if c2c can add words to a running turn, and the agent confirms that it has taken
// them.
func (v version) steers() bool { return v.minor >= 5 }

func parseVersion(text string) (v version, err error) {
	major, minor, _ := strings.Cut(text, ".")
	if v.major, err = strconv.Atoi(major); err == nil {
		v.minor, err = strconv.Atoi(minor)
	}
	if err != nil || v.major != 1 {
		return v, refusef("the agent speaks version %.20q of the protocol, c2c knows 1.1 to 1.10", text)
	}
	return v, nil
}

// initialize negotiates version and capabilities with the agent.
func (a *agent) initialize(ctx context.Context, ours string) (version, error) {
	r, err := a.call(ctx, "initialize", map[string]any{
		"protocol_version": "1.10",
		"client":           map[string]string{"name": "c2c", "version": ours},
		"capabilities":     map[string]bool{"supports_question": false, "supports_plan_mode": false},
	})
	if err != nil {
		return version{}, err
	}
	if r.Error != nil && r.Error.Code == methodNotFound {
		return version{1, 0}, nil // before 1.1 there was no initialize
	}
	var answer struct {
		Protocol string `json:"protocol_version"`
	}
	if err := r.problem(); err != nil {
		return version{}, err
	}
	if err := json.Unmarshal(r.Result, &answer); err != nil {
		return version{}, refusef("its answer to initialize cannot be read: %v", err)
	}
	return parseVersion(answer.Protocol)
}

// refusal is the error if the agent runs, but did not take the mail.
type refusal struct {
	said string
	busy bool // a turn runs, so the agent has taken nothing
}

func (r refusal) Error() string { return r.said }

// Unwrap makes a ringer treat a refusal as wake.ErrUncaptured.
func (refusal) Unwrap() error { return wake.ErrUncaptured }

func refusef(format string, args ...any) error { return refusal{said: fmt.Sprintf(format, args...)} }

// problem returns the error in an agent's answer, in words that say what a person can do.
func (r reply) problem() error {
	if r.Error == nil {
		return nil
	}
	said := cut(r.Error.Message)
	switch r.Error.Code {
	case wrongState:
		return refusal{"the agent refused: " + said, true}
	case noModel:
		return refusef("the agent has no model: choose one in its own configuration (%s)", said)
	case unknownModel:
		return refusef("the agent cannot use its model: %s", said)
	case modelFailed:
		return refusef("the agent's model failed: %s", said)
	}
	return refusef("the agent says %q (%d)", said, r.Error.Code)
}

var errNotAsked error = refusal{said: "the agent ended its turn and did not ask its model"}

// give passes text to the agent, in the running turn or in a new turn. It returns when the model
// has answered.
func (a *agent) give(ctx context.Context, text string) error {
	input := map[string]string{"user_input": text}
	if a.runs() && a.version.steers() {
		if over, err := a.steer(ctx, input); !over {
			return err
		}
	}
	if err := a.idle(ctx); err != nil {
		return err
	}
	w := a.offer("TurnBegin")
	id := a.newID(nil)
	a.update(func() { a.turn = &turn{id: id} })
	if err := a.write(ctx, message(id, "prompt", input)); err != nil {
		return err
	}
	return a.await(ctx, w)
}

// steer puts text into the running turn. The result over is true if the turn has ended before the
// agent got the text. If the agent has got the text, but the turn ends without an answer to it,
// over is false and err is set. The next turn may still take such a text.
func (a *agent) steer(ctx context.Context, input any) (over bool, err error) {
	w := a.offer("SteerInput")
	r, err := a.call(ctx, "steer", input)
	if err != nil {
		return false, err
	}
	if err := r.problem(); err != nil {
		return r.Error.Code == wrongState, err
	}
	return false, a.await(ctx, w)
}

// offer records that a text is on its way to the agent. The argument event is the name of the event
// that will show that the agent has it.
func (a *agent) offer(event string) *words {
	w := &words{event: event}
	a.update(func() { a.words = w })
	return w
}

func (a *agent) runs() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn != nil && !a.turn.over
}

// await returns nil when the model has answered the text w, and an error if the turn ends before
// that.
func (a *agent) await(ctx context.Context, w *words) error {
	if err := a.until(ctx, func() bool { return w.had || a.turn.over }); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.had {
		return nil
	}
	return cmp.Or(a.turn.err, errNotAsked)
}

// idle returns when no turn runs.
func (a *agent) idle(ctx context.Context) error {
	return a.until(ctx, func() bool { return a.turn == nil || a.turn.over })
}

// until returns nil when ready returns true, or an error when the agent or ctx ends.
func (a *agent) until(ctx context.Context, ready func() bool) error {
	for ended := false; ; {
		a.mu.Lock()
		done, news := ready(), a.news
		a.mu.Unlock()
		switch {
		case done:
			return nil
		case ended:
			return a.err
		}
		select {
		case <-news:
		case <-a.ended: // check once more: the agent may have answered before it ended
			ended = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
