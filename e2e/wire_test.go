package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"c2c/e2e/lab"
	"c2c/e2e/wireagent"
)

// wireVerb makes the test binary the stand-in for the older Python agent, which cannot be had here.
const wireVerb = "wire-agent"

// wireAgent writes a program that is the agent; what it gets is in the file "got" of the folder.
func wireAgent(t *testing.T, l *lab.Lab, folder, mode string) (program string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l.Write(folder+"/mode", mode)
	return l.Write(folder+"/agent", fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s'\n", self, wireVerb, filepath.Join(l.Home, folder)))
}

// useSDK is a person's program that talks to an agent through the agent's own npm package. It
// prints each event, as the package has read and checked it.
const useSDK = `
const [sdk, executable, workDir] = process.argv.slice(2);
const { createSession } = await import(sdk);
const session = createSession({ workDir, executable, env: {} });
const turn = session.prompt("a prompt");
for await (const event of turn) {
	console.log(JSON.stringify(event));
	if (event.type === "ApprovalRequest") await turn.approve(event.payload.id, "reject");
	if (event.type === "ToolCall" && process.argv[5] === "steer") await turn.steer("a steer");
}
console.log(JSON.stringify({ type: "result", payload: await turn.result }));
await session.close();
`

// runSDK runs a turn of an agent through the package, and returns the events.
func runSDK(t *testing.T, l *lab.Lab, agent string, more ...string) (types []string, all string) {
	t.Helper()
	sdk := ""
	for _, folder := range clientFolders() {
		if path := filepath.Join(folder, "node_modules/@moonshot-ai/kimi-agent-sdk/dist/index.mjs"); exists(path) {
			sdk = path
		}
	}
	if sdk == "" {
		t.Fatal("@moonshot-ai/kimi-agent-sdk is not installed: run make e2e")
	}
	script := l.Write("sdk.mjs", useSDK)
	all = l.Run(append([]string{"/usr/bin/env", "node", script, sdk, agent, l.Project}, more...)...)
	for _, line := range lines(all) {
		var e struct{ Type string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		types = append(types, e.Type)
	}
	return types, all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// What the package cannot read it gives as an event of the type "error".
func TestTheNPMClientOfWireReadsOurStandIn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	types, all := runSDK(t, l, wireAgent(t, l, "approval", wireagent.Approval))
	want := []string{"TurnBegin", "StepBegin", "ToolCall", "ApprovalRequest", "ApprovalResponse", "ToolResult", "StepBegin", "StepBegin",
		"ContentPart", "StatusUpdate", "TurnEnd", "result"}
	if !slices.Equal(types, want) || !strings.Contains(all, `"status":"finished"`) {
		t.Errorf("it reads:\n%s", all)
	}
	agent := wireAgent(t, l, "slow", wireagent.Slow)
	end := filepath.Join(l.Home, "slow/end")
	if err := syscall.Mkfifo(end, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		l.WaitFile("slow/"+wireagent.Steered, "")
		os.WriteFile(end, nil, 0o600)
	}()
	types, all = runSDK(t, l, agent, "steer")
	// Package wire's own test has the same of c2c.
	if steer := `{"id":"string","jsonrpc":"2.0","method":"steer","params":{"user_input":"string"}}`; !slices.Contains(wireShapes(t, l.Read("slow/got")), steer) {
		t.Errorf("it steers otherwise:\n%s", l.Read("slow/got"))
	}
	want = []string{"TurnBegin", "StepBegin", "ToolCall", "ToolResult", "SteerInput", "StepBegin", "ContentPart", "StatusUpdate", "TurnEnd", "result"}
	if !slices.Equal(types, want) {
		t.Errorf("it reads:\n%s", all)
	}
}

// The agent gets from c2c what it gets from its own npm client, but for the words.
func TestTheWireBridgeSpeaksAsTheNPMClient(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	runSDK(t, l, wireAgent(t, l, "theirs", wireagent.Approval))
	agent := wireAgent(t, l, "ours", wireagent.Approval)
	l.Run("c2c", "register", "birch", "--session-id", "birch")
	run := []string{"c2c", "wire-daemon", "run", "--once", "--alias", "amber", "--", agent}
	l.Run(run...)
	l.Run("c2c", "send", "--from", "birch", "--id", "m-1", "amber", "a prompt")
	l.Run(run...)
	theirs, ours := wireShapes(t, l.Read("theirs/got")), wireShapes(t, l.Read("ours/got"))
	if !slices.Equal(theirs, ours) {
		t.Errorf("the npm client says\n%s\nand c2c\n%s", strings.Join(theirs, "\n"), strings.Join(ours, "\n"))
	}
	if out := l.Run("c2c", "status", "m-1"); !strings.Contains(out, "read") {
		t.Errorf("status of the message: %s", out)
	}
}

// wireShapes are lines of JSON without their values, but for the names of methods and the answer to
// an approval.
func wireShapes(t *testing.T, got string) (shapes []string) {
	t.Helper()
	for _, line := range lines(got) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		shape, err := json.Marshal(shapeOf("", m))
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, string(shape))
	}
	return shapes
}

func shapeOf(key string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			value[k] = shapeOf(k, v)
		}
		return value
	case string:
		if key == "method" || key == "response" || key == "jsonrpc" {
			return value
		}
	}
	return fmt.Sprintf("%T", value)
}
