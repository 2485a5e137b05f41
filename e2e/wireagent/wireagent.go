// Package wireagent is a stand-in for an agent that speaks the Wire protocol. It follows the
// agent's documentation and source (see package wake/wire). e2e checks that the agent's own npm
// client accepts its output.
package wireagent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The modes of the agent. The file "mode" in its folder selects a mode; without the file the agent
// works normally. A version such as 1.4 may come before the mode: then the agent speaks that
// version of the protocol.
const (
	Legacy   = "legacy"    // it does not know initialize
	Future   = "2.0"       // it speaks another protocol
	Mute     = "mute"      // it reads and answers nothing
	NoModel  = "no-model"  // it refuses each prompt
	BadModel = "bad-model" // it refuses each prompt, because it does not know its model
	Cancels  = "cancels"   // each turn is cancelled before the model answers
	Busy     = "busy"      // a turn already runs
	Broken   = "broken"    // its model fails, after it has taken the prompt
	Stopped  = "stopped"   // a hook of its user stops the prompt: the model is not asked
	Exits    = "exits"     // it ends when it is started
	Dies     = "dies"      // it ends when it is given a prompt
	Approval = "approval"  // it asks for approval in each turn
	Slow     = "slow"      // its model answers after a write to the pipe "go", and calls a tool until a write to the pipe "end"
)

// Steered is a file in the agent's folder. It appears when words for the running turn have come;
// from then on the turn may end.
const Steered = "steered"

type agent struct {
	dir     string
	mode    string
	version string
	minor   int
	out     *json.Encoder

	mu      sync.Mutex
	turn    bool
	steers  []any
	answers map[string]chan json.RawMessage // the client's answers to the agent's own requests
}

type message struct {
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// Run serves requests until in ends. It adds each line that it reads to the file "got" in dir.
func Run(dir string, in io.Reader, out io.Writer) error {
	mode, _ := os.ReadFile(filepath.Join(dir, "mode"))
	a := &agent{dir: dir, mode: strings.TrimSpace(string(mode)), version: "1.10", minor: 10, out: json.NewEncoder(out), answers: map[string]chan json.RawMessage{}}
	if word, rest, _ := strings.Cut(a.mode, " "); strings.Contains(word, ".") {
		a.version, a.mode = word, rest
		if _, err := fmt.Sscanf(word, "1.%d", &a.minor); err != nil && word != Future {
			return err
		}
	}
	if a.mode == Exits {
		return errors.New("unknown option '--wire'")
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		got, err := os.OpenFile(filepath.Join(dir, "got"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		got.Write(line)
		got.Close()
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("read %q: %w", line, err)
		}
		if err := a.take(m); err != nil {
			return err
		}
	}
}

func (a *agent) take(m message) error {
	if a.mode == Mute {
		return nil
	}
	var p struct {
		Input any `json:"user_input"`
	}
	json.Unmarshal(m.Params, &p)
	switch {
	case m.Method == "initialize" && a.mode != Legacy:
		a.result(m.ID, map[string]any{"protocol_version": a.version, "server": map[string]any{"name": "Kimi Code CLI", "version": "1.49.0"},
			"slash_commands": []any{}, "capabilities": map[string]any{"supports_question": true}})
	case m.Method == "prompt":
		return a.prompt(m.ID, p.Input)
	case m.Method == "steer" && a.mode != Legacy && a.minor >= 4:
		time.Sleep(100 * time.Millisecond)
		a.steer(m.ID, p.Input)
	case m.Method == "":
		a.mu.Lock()
		defer a.mu.Unlock()
		if answer := a.answers[m.ID]; answer != nil {
			answer <- m.Result
		}
	default:
		a.fail(m.ID, -32601, "Unexpected method received: "+m.Method)
	}
	return nil
}

func (a *agent) prompt(id string, input any) error {
	a.mu.Lock()
	busy := a.turn || a.mode == Busy
	a.turn = true
	a.mu.Unlock()
	switch {
	case busy:
		a.fail(id, -32000, "An agent turn is already in progress")
	case a.mode == NoModel:
		a.fail(id, -32001, "LLM is not set")
		a.over()
	case a.mode == BadModel:
		a.fail(id, -32002, "LLM is not supported")
		a.over()
	case a.mode == Dies:
		a.event("TurnBegin", map[string]any{"user_input": input})
		return errors.New("it broke")
	default:
		go a.run(id, input)
	}
	return nil
}

func (a *agent) steer(id string, input any) {
	a.mu.Lock()
	runs := a.turn
	if runs {
		a.steers = append(a.steers, input)
	}
	a.mu.Unlock()
	if !runs {
		a.fail(id, -32000, "No agent turn is in progress")
		return
	}
	a.result(id, map[string]any{"status": "steered"})
	os.WriteFile(filepath.Join(a.dir, Steered), nil, 0o600)
}

// run makes one turn.
func (a *agent) run(id string, input any) {
	a.event("TurnBegin", map[string]any{"user_input": input})
	if a.mode == Stopped {
		a.event("ContentPart", map[string]any{"type": "text", "text": "Blocked by a hook"})
		a.event("TurnEnd", map[string]any{})
		a.over()
		a.result(id, map[string]any{"status": "finished"})
		return
	}
	step := 1
	a.event("StepBegin", map[string]any{"n": step})
	if a.mode == Broken {
		a.event("StepInterrupted", map[string]any{})
		a.over()
		a.fail(id, -32003, "429 rate limit")
		return
	}
	if a.mode == Cancels {
		a.event("StepInterrupted", map[string]any{})
		a.over()
		a.result(id, map[string]any{"status": "cancelled"})
		return
	}
	if a.mode == Approval {
		a.approve()
		step++
		a.event("StepBegin", map[string]any{"n": step})
	}
	if a.mode == Slow || a.mode == Legacy {
		a.await("go")
		a.tool("Shell", map[string]any{"is_error": false, "output": "", "message": "", "display": []any{}}, func() { a.await("end") })
	}
	a.takeSteers()
	for again := true; again; again = a.goesOn() {
		step++
		a.event("StepBegin", map[string]any{"n": step})
		a.event("ContentPart", map[string]any{"type": "text", "text": "I have read it."})
		a.event("StatusUpdate", map[string]any{"context_usage": 0.1, "token_usage": map[string]any{
			"input_other": 10, "output": 5, "input_cache_read": 0, "input_cache_creation": 0}})
	}
	a.event("TurnEnd", map[string]any{})
	a.result(id, map[string]any{"status": "finished"})
}

// goesOn takes the steered words and returns true, or ends the turn and returns false. No words can
// come in between.
func (a *agent) goesOn() bool {
	a.mu.Lock()
	a.turn = len(a.steers) > 0
	a.mu.Unlock()
	return a.takeSteers()
}

// tool reports a tool call, calls do, and reports the result.
func (a *agent) tool(name string, result map[string]any, do func()) {
	a.event("ToolCall", map[string]any{"type": "function", "id": "tc-1", "function": map[string]any{"name": name, "arguments": `{"command":"ls"}`}})
	do()
	a.event("ToolResult", map[string]any{"tool_call_id": "tc-1", "return_value": result})
}

func (a *agent) approve() {
	result := map[string]any{"is_error": true, "output": "", "message": "", "display": []any{}}
	a.tool("Shell", result, func() {
		answer := make(chan json.RawMessage, 1)
		a.mu.Lock()
		a.answers["ap-1"] = answer
		a.mu.Unlock()
		a.send(map[string]any{"method": "request", "id": "ap-1", "params": map[string]any{"type": "ApprovalRequest", "payload": map[string]any{
			"id": "ap-1", "tool_call_id": "tc-1", "sender": "Shell", "action": "run shell command", "description": "Run command `ls`",
			"display": []any{map[string]any{"type": "shell", "language": "sh", "command": "ls"}}, "source_kind": "foreground_turn"}}})
		var said struct {
			ID       string `json:"request_id"`
			Response string
		}
		json.Unmarshal(<-answer, &said)
		result["message"] = said.Response
		a.event("ApprovalResponse", map[string]any{"request_id": said.ID, "response": said.Response})
	})
}

// takeSteers adds the steered words to the conversation, and reports whether there were any.
func (a *agent) takeSteers() (some bool) {
	a.mu.Lock()
	steers := a.steers
	a.steers = nil
	a.mu.Unlock()
	for _, input := range steers {
		a.event("SteerInput", map[string]any{"user_input": input})
	}
	return len(steers) > 0
}

// await returns when something was written to the pipe in the agent's folder, or at once if there
// is no such pipe.
func (a *agent) await(pipe string) { os.ReadFile(filepath.Join(a.dir, pipe)) }

func (a *agent) over() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = false
}

func (a *agent) event(kind string, payload map[string]any) {
	if kind == "SteerInput" && a.minor < 5 {
		return
	}
	a.send(map[string]any{"method": "event", "params": map[string]any{"type": kind, "payload": payload}})
}

func (a *agent) result(id string, result map[string]any) {
	a.send(map[string]any{"id": id, "result": result})
}

func (a *agent) fail(id string, code int, said string) {
	a.send(map[string]any{"id": id, "error": map[string]any{"code": code, "message": said}})
}

func (a *agent) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	a.mu.Lock()
	defer a.mu.Unlock()
	a.out.Encode(m) // an error means that the client has ended
}
