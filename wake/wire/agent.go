package wire

import (
	"bufio"
	"bytes"
	"c2c/internal/proc"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxLine   = 100 << 20       // the agent's own limit for a line, in bytes
	maxTail   = 2 << 10         // how much of the agent's standard error c2c keeps, in bytes
	closeTime = 3 * time.Second // how long the agent may take to end after c2c has closed its input
	pipeTime  = time.Second     // how long to read the agent's last output if a child process keeps the pipe open
)

// agent is one process that speaks Wire.
type agent struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	writing   chan struct{} // a lock on the field in: full during a write
	onRequest func(request) (result any, known bool)
	onTurnEnd func(error)   // called at the end of a turn, with the turn's error or nil
	exited    chan struct{} // closed when the agent and its child processes have ended
	ended     chan struct{} // closed when the agent's output has ended
	version   version

	mu    sync.Mutex
	last  int                   // number of the last call
	calls map[string]chan reply // calls that wait for their answer
	turn  *turn                 // the current or last turn; nil: there was none
	words *words                // the last text that c2c has given to the agent
	news  chan struct{}         // closed and replaced whenever turn or words change
	err   error                 // why the agent ended
}

// turn is the turn that one prompt has started.
type turn struct {
	id   string
	over bool
	err  error // why the turn failed
}

// words is a text that c2c has given to the agent, and what the agent has done with it.
type words struct {
	event string // the event by which the agent shows that it has taken the text
	taken bool
	step  bool // a step has begun since the agent took the text
	had   bool // the model has answered in such a step
}

// line is a message from the agent.
type line struct {
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	reply
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// request is a request or an event from the agent.
type request struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// start starts the agent. The function onRequest answers the agent's requests, and onTurnEnd is
// called when a turn is over.
func start(argv, env []string, dir string, onRequest func(request) (any, bool), onTurnEnd func(error)) (*agent, error) {
	a := &agent{cmd: exec.Command(argv[0], argv[1:]...), writing: make(chan struct{}, 1), onRequest: onRequest, onTurnEnd: onTurnEnd,
		exited: make(chan struct{}), ended: make(chan struct{}), calls: map[string]chan reply{}, news: make(chan struct{})}
	a.cmd.Dir, a.cmd.Env, a.cmd.WaitDelay = dir, env, pipeTime
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C goes only to c2c, and the agent's child processes end with the agent
	stderr := &proc.Tail{Most: maxTail}
	out, lines := io.Pipe()
	a.cmd.Stdout, a.cmd.Stderr = lines, stderr
	var err error
	if a.in, err = a.cmd.StdinPipe(); err == nil {
		err = a.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	go func() {
		err := a.cmd.Wait()
		a.kill() // kill the group at once, because another process group may soon get the same number
		close(a.exited)
		lines.CloseWithError(err) // with nil, the reader sees the end of the file
	}()
	go a.read(out, stderr)
	return a, nil
}

// read reads the agent's output until it ends.
func (a *agent) read(out *io.PipeReader, stderr *proc.Tail) {
	lines := bufio.NewReader(out)
	var err error
	for err == nil {
		var text []byte
		var l line
		if text, err = readLine(lines); json.Unmarshal(text, &l) == nil { // ignore other output
			a.hear(l)
		}
	}
	if err == io.EOF {
		err = nil
	}
	out.CloseWithError(err) // stops the agent's output after a line that is too long
	said := ""
	if err != nil {
		said = ", " + err.Error()
	}
	if text := lastLine(stderr.String()); text != "" {
		said += ": " + text
	}
	a.err = errors.New("the agent ended" + said)
	close(a.ended)
}

// readLine returns the next line. At the end of the output it returns the last line together with
// an error. readLine is faster than bufio.Scanner, which after each read searches a long line from
// its beginning.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(text)+len(part) > maxLine {
			return nil, bufio.ErrTooLong
		}
		if text = append(text, part...); err != bufio.ErrBufferFull {
			return text, err
		}
	}
}

func (a *agent) hear(l line) {
	var r request
	switch l.Method {
	case "":
		a.answered(l)
	case "event":
		if json.Unmarshal(l.Params, &r) == nil {
			a.follow(r.Type)
		}
	case "request":
		if json.Unmarshal(l.Params, &r) == nil && l.ID != "" {
			a.answer(l.ID, r)
		}
	}
}

// answer answers a request. The agent waits for an answer, so c2c answers an unknown request with
// an error.
func (a *agent) answer(id string, r request) {
	out := map[string]any{"jsonrpc": "2.0", "id": id}
	if result, known := a.onRequest(r); known {
		out["result"] = result
	} else {
		out["error"] = rpcError{methodNotFound, fmt.Sprintf("c2c answers no %.100q", r.Type)}
	}
	a.write(context.Background(), out) // the write fails only if the agent ends, and the method read reports that
}

// follow records in a.words what an event of the agent shows about c2c's text.
func (a *agent) follow(event string) {
	a.update(func() {
		w := a.words
		if w == nil {
			return
		}
		switch event {
		case w.event:
			w.taken = true
		case "StepBegin":
			w.step = w.taken
		case "ContentPart", "ToolCall":
			w.had = w.had || w.step
		}
	})
}

// answered handles the agent's answer to a call of c2c. The answer to a prompt ends the turn.
func (a *agent) answered(l line) {
	a.mu.Lock()
	call, ends := a.calls[l.ID], a.turn != nil && !a.turn.over && a.turn.id == l.ID
	delete(a.calls, l.ID)
	a.mu.Unlock()
	if call != nil {
		call <- l.reply
	}
	if !ends {
		return
	}
	var done struct{ Status string }
	err := l.problem()
	if err == nil {
		if err = json.Unmarshal(l.Result, &done); err == nil && done.Status == "cancelled" {
			err = refusef("the agent's turn was cancelled")
		}
	}
	a.update(func() {
		a.turn.over, a.turn.err = true, err
		if a.words != nil && err == nil {
			a.words.had = a.words.had || a.words.step // a model may answer with nothing
		}
	})
	a.onTurnEnd(err)
}

// update calls the function change, and wakes all goroutines that wait for a change.
func (a *agent) update(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	close(a.news)
	a.news = make(chan struct{})
}

// call sends a request to the agent and waits for its answer.
func (a *agent) call(ctx context.Context, method string, params any) (reply, error) {
	answer := make(chan reply, 1)
	id := a.newID(answer)
	if err := a.write(ctx, message(id, method, params)); err != nil {
		return reply{}, err
	}
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	case <-a.ended:
	}
	select {
	case r := <-answer: // the agent answered before it ended
		return r, nil
	default:
		return reply{}, a.err
	}
}

func message(id, method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
}

func (a *agent) newID(answer chan reply) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	id := strconv.Itoa(a.last)
	if answer != nil {
		a.calls[id] = answer
	}
	return id
}

// write writes a line. It also returns when ctx or the agent ends; if the write still blocks then,
// a goroutine goes on with the write.
func (a *agent) write(ctx context.Context, message map[string]any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(message); err != nil {
		return err
	}
	select {
	case a.writing <- struct{}{}:
	case <-a.ended:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	written := make(chan error, 1)
	go func() {
		_, err := a.in.Write(text.Bytes())
		<-a.writing
		written <- err
	}()
	select {
	case err := <-written:
		if err == nil {
			return nil
		}
		select { // the agent's own error says more than "broken pipe"
		case <-a.ended:
			return a.err
		case <-time.After(pipeTime):
			return fmt.Errorf("write to the agent: %w", err)
		}
	case <-a.ended:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close ends the agent and its child processes.
func (a *agent) close() {
	a.in.Close()
	select {
	case <-a.exited:
	case <-time.After(closeTime):
		a.kill()
	}
	<-a.ended
}

// kill ends the agent's process group.
func (a *agent) kill() { syscall.Kill(-a.cmd.Process.Pid, syscall.SIGKILL) }

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return cut(lines[len(lines)-1])
}
