package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"c2c/e2e/wireagent"
	"c2c/inbox/mail"
	"c2c/internal/proc"
	"c2c/wake"
)

// agentVerb makes the test binary the stand-in for the agent.
const agentVerb = "wire-agent"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == agentVerb {
		if err := wireagent.Run(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// place is a bridge with its agent.
type place struct {
	*Bridge
	t   *testing.T
	dir string

	mu     sync.Mutex
	states []State
}

func newPlace(t *testing.T, mode string, change ...func(*Config)) *place {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: t.TempDir()}
	p.becomes(mode)
	cfg := Config{Argv: []string{self, agentVerb, p.dir}, Dir: p.dir, Env: os.Environ(), Version: "test", OnState: func(s State) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.states = append(p.states, s)
	}}
	for _, f := range change {
		f(&cfg)
	}
	p.Bridge = New(cfg)
	t.Cleanup(func() { p.Close(over()) })
	return p
}

// over is a context that has ended.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// becomes says how the next agent behaves.
func (p *place) becomes(mode string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "mode"), []byte(mode), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// pipes are what a slow agent waits for.
func (p *place) pipes(names ...string) {
	p.t.Helper()
	for _, name := range names {
		if err := syscall.Mkfifo(filepath.Join(p.dir, name), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

// open lets a slow agent go on.
func (p *place) open(pipe string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, pipe), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// got is what the agents were sent.
func (p *place) got() string {
	data, _ := os.ReadFile(filepath.Join(p.dir, "got"))
	return string(data)
}

func (p *place) state() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.states[len(p.states)-1]
}

func letter(id string) mail.Message {
	return mail.Message{From: "birch", To: "amber", Content: "/quit <b>" + id, ID: id, TS: 1.5}
}

func (p *place) carry(ids ...string) (had []string, err error) {
	var msgs []mail.Message
	for _, id := range ids {
		msgs = append(msgs, letter(id))
	}
	return p.Carry(p.t.Context(), msgs)
}

func TestMailIsAPromptAndTheModelsAnswerTheReceipt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	had, err := p.carry("m-1", "m-2")
	if err != nil || !slices.Equal(had, []string{"m-1", "m-2"}) {
		t.Fatalf("had %q, %v", had, err)
	}
	if err := p.agent.idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.carry("m-3"); err != nil {
		t.Fatal(err)
	}
	got := p.got()
	if strings.Count(got, `"initialize"`) != 1 || strings.Count(got, `"prompt"`) != 2 {
		t.Errorf("the agent got:\n%s", got)
	}
	for _, id := range []string{"m-1", "m-2", "m-3"} {
		if strings.Count(got, id) != 2 { // as an id and in the words
			t.Errorf("%s came not once in:\n%s", id, got)
		}
	}
	if strings.Contains(got, `"user_input":"/`) || !strings.Contains(got, mail.PrefaceStart) {
		t.Errorf("a peer's words are a command, or have no preface:\n%s", got)
	}
	if s := p.state(); s.Agent == Failed || s.Protocol != "1.10" {
		t.Errorf("state %+v", s)
	}
}

func TestABusyAgentIsSteeredAndAnswersInTheSameTurn(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.5", "1.6", "1.7", "1.8", "1.9", "1.10"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			wantSteered(t, version)
		})
	}
}

func wantSteered(t *testing.T, version string) {
	t.Helper()
	p := newPlace(t, version+" "+wireagent.Slow)
	p.pipes("go", "end")
	answered := make(chan error, 1)
	go func() {
		_, err := p.carry("m-1")
		answered <- err
	}()
	p.open("go") // blocks until the agent has the prompt
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := p.carry("m-2")
		answered <- err
	}()
	p.waitFile(wireagent.Steered)
	select {
	case err := <-answered:
		t.Fatalf("a steer counts as read before the model has it: %v", err)
	default:
	}
	p.open("end")
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	steer := `{"id":"3","jsonrpc":"2.0","method":"steer","params":{"user_input":"Mail carried by `
	if got := p.got(); strings.Count(got, `"prompt"`) != 1 || strings.Count(got, "m-2") != 2 || !strings.Contains(got, steer) || p.state().Protocol != version {
		t.Errorf("the agent of %s got:\n%s", p.state().Protocol, got)
	}
}

func (p *place) waitGot(text string) {
	p.t.Helper()
	p.wait("the agent never got "+text, func() bool { return strings.Contains(p.got(), text) })
}

func (p *place) waitFile(name string) {
	p.t.Helper()
	p.wait("there is no file "+name, func() bool {
		_, err := os.Stat(filepath.Join(p.dir, name))
		return err == nil
	})
}

func (p *place) wait(missed string, ready func() bool) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !ready(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatal(missed)
		}
	}
}

// An agent that does not say when it takes a steer (1.4), or knows none, is given nothing while a
// turn runs.
func TestAnAgentThatCannotBeSteeredIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"1.1 slow", "1.2 slow", "1.3 slow", "1.4 slow", wireagent.Legacy} {
		p := newPlace(t, mode)
		p.pipes("end")
		if _, err := p.carry("m-1"); err != nil {
			t.Fatal(err)
		}
		if err := p.Ready(t.Context()); !errors.Is(err, wake.ErrHeld) {
			t.Errorf("%s: in a turn: %v", mode, err)
		}
		p.open("end")
		if _, err := p.carry("m-2"); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if got := p.got(); strings.Contains(got, "steer") || strings.Count(got, `"prompt"`) != 2 {
			t.Errorf("%s got:\n%s", mode, got)
		}
	}
}

func TestWhatTheAgentDoesNotTakeIsSaidAndGivenToTheNext(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct{ outcome, cause string }{
		wireagent.NoModel:  {wake.Uncaptured, "the agent has no model: choose one in its own configuration (LLM is not set)"},
		wireagent.BadModel: {wake.Uncaptured, "the agent cannot use its model: LLM is not supported"},
		wireagent.Cancels:  {wake.Uncaptured, "the agent's turn was cancelled"},
		wireagent.Broken:   {wake.Uncaptured, "the agent's model failed: 429 rate limit"},
		wireagent.Stopped:  {wake.Uncaptured, "the agent ended its turn and did not ask its model"},
		wireagent.Future:   {wake.Uncaptured, `the agent speaks version "2.0" of the protocol, c2c knows 1.1 to 1.10`},
		wireagent.Exits:    {wake.Failed, "the agent ended, exit status 1: error: unknown option '--wire'"},
		wireagent.Dies:     {wake.Failed, "the agent ended, exit status 1: error: it broke"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, mode)
			had, err := p.carry("m-1")
			if len(had) != 0 || wake.OutcomeOf(err) != want.outcome || err.Error() != want.cause || errors.Is(err, wake.ErrUnreachable) {
				t.Errorf("had %q, %s: %v", had, wake.OutcomeOf(err), err)
			}
			if s := p.state(); s.Agent != Failed || s.Cause != want.cause {
				t.Errorf("state %+v", s)
			}
			p.becomes("")
			if had, err := p.carry("m-1"); err != nil || len(had) != 1 {
				t.Errorf("the next agent: %q, %v", had, err)
			}
			if s := p.state(); s.Cause != "" {
				t.Errorf("state after that: %+v", s)
			}
		})
	}
}

// It may work on something of its own.
func TestAnAgentThatWorksByItselfIsNotEnded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, wireagent.Busy)
	for range 2 {
		had, err := p.carry("m-1")
		if len(had) != 0 || wake.OutcomeOf(err) != wake.Uncaptured || p.state().Cause != "the agent refused: An agent turn is already in progress" {
			t.Errorf("had %q, %v, state %+v", had, err, p.state())
		}
	}
	if got := p.got(); strings.Count(got, `"initialize"`) != 1 {
		t.Errorf("it was started anew:\n%s", got)
	}
}

func TestAnAgentThatCannotBeStartedIsSaid(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "", func(c *Config) { c.Argv = []string{"/no/such/agent"} })
	if _, err := p.carry("m-1"); err == nil || wake.OutcomeOf(err) != wake.Failed || p.state().Agent != Failed {
		t.Errorf("%v, %+v", err, p.state())
	}
}

func TestApprovalsFollowThePolicyAndAreReported(t *testing.T) {
	t.Parallel()
	for want, approve := range map[string]bool{"reject": false, "approve": true} {
		p := newPlace(t, wireagent.Approval, func(c *Config) { c.Approve = approve })
		if _, err := p.carry("m-1"); err != nil {
			t.Fatal(err)
		}
		p.Close(t.Context()) // and wait for the turn
		if got := p.got(); !strings.Contains(got, `"response":"`+want+`"`) {
			t.Errorf("the agent got:\n%s", got)
		}
		if s := p.state(); s.Approval != "Shell asked to run shell command (Run command `ls`): "+want || s.Agent != Off {
			t.Errorf("state %+v", s)
		}
	}
}

// The mail waits for the next agent, and nothing of this one is left.
func TestACarryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newPlace(t, wireagent.Mute)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := p.Carry(ctx, []mail.Message{letter("m-1")})
		answered <- err
	}()
	p.waitGot(`"initialize"`)
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if s := p.state(); s.Agent == Failed {
		t.Errorf("a stop is no failure: %+v", s)
	}
	process := p.agent.cmd.Process
	p.Close(over())
	if err := process.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the agent still runs: %v", err)
	}
}

// Ctrl-C does not reach the agent, which has a process group of its own.
func TestACheckThatIsStoppedLeavesNoAgent(t *testing.T) {
	t.Parallel()
	p := newPlace(t, wireagent.Mute)
	ctx, cancel := context.WithCancel(t.Context())
	checked := make(chan error, 1)
	go func() { checked <- p.Check(ctx) }()
	p.waitGot(`"initialize"`)
	cancel()
	if err := <-checked; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if p.agent != nil {
		t.Errorf("process %d of the agent still runs", p.agent.cmd.Process.Pid)
	}
}

// Nobody looks at an agent that ends by itself until there is mail again.
func TestWhatAnAgentHasStartedEndsWithIt(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	script := `sleep 1000 >"$0" 2>&1 </dev/null &`
	a, err := start([]string{"sh", "-c", script, fifo}, os.Environ(), t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	<-a.ended
	held.Close()
	reader.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := reader.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("its child runs on: %v", err)
	}
}

// heard lets a bridge hear what an agent says until its end, and gives the words that it was given
// before.
func heard(t *testing.T, says io.Reader) (*agent, *words) {
	t.Helper()
	b := New(Config{OnState: func(State) {}})
	a := &agent{in: nowhere{}, writing: make(chan struct{}, 1), onRequest: b.answer, onTurnEnd: b.turnEnded, ended: make(chan struct{}),
		calls: map[string]chan reply{}, turn: &turn{id: "1"}, news: make(chan struct{})}
	a.words = &words{event: "TurnBegin"}
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, says)
		in.CloseWithError(err)
	}()
	a.read(out, &proc.Tail{Most: maxTail})
	return a, a.words
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }

// The model has the words only when the agent has said so, in this order.
func FuzzLines(f *testing.F) {
	event := func(kind string) string {
		return `{"method":"event","params":{"type":"` + kind + `","payload":{}}}` + "\n"
	}
	turn := event("TurnBegin") + event("StepBegin") + event("ContentPart")
	for _, text := range []string{turn, event("TurnBegin") + event("StepBegin") + `{"id":"1","result":{"status":"finished"}}` + "\n", event("ContentPart"),
		`{"id":"1","error":{"code":-32003,"message":"x"}}` + "\n", `{"id":"1","result":[]}`, `{"id":7,"params":[]}` + "\n",
		`{"method":"request","id":"r","params":{"type":"ApprovalRequest","payload":{"id":"a","action":"x\u0000\n"}}}` + "\n",
		`{"method":"request","id":"r","params":{"type":"QuestionRequest","payload":7}}` + "\n",
		strings.Repeat(`{"params":`, 20_000) + "\n" + turn, strings.Repeat("[", 1<<20) + "\n" + turn, strings.Repeat("x", 1<<20)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, says []byte) {
		a, w := heard(t, bytes.NewReader(says))
		if w.had && !(bytes.Contains(says, []byte("TurnBegin")) && bytes.Contains(says, []byte("StepBegin"))) && !bytes.Contains(says, []byte(`\u`)) {
			t.Error("the model has words that the agent has not taken")
		}
		if a.err == nil {
			t.Error("it has not ended")
		}
		if strings.HasSuffix(string(says), "\n"+turn) && !w.had {
			t.Error("what stands before hides that the model has them")
		}
	})
}

// To search all of a line again after each part of it would take minutes.
func TestALineWithoutEndIsTheEndOfTheAgent(t *testing.T) {
	t.Parallel()
	if a, w := heard(t, endless{}); w.had || !strings.Contains(a.err.Error(), "too long") {
		t.Errorf("it ended with %v", a.err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
