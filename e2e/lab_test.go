package e2e

import (
	"encoding/json"
	"slices"
	"testing"

	"c2c/e2e/lab"
)

// The files lab_*_test.go need no c2c: they pin what c2c relies on in the other clients.

// probed is a message of a client to the probe server.
type probed struct {
	Method string
	Params struct {
		ProtocolVersion string
		ClientInfo      struct{ Name, Version string }
		Arguments       map[string]any
		Meta            map[string]any `json:"_meta"`
	}
}

// probeGot returns the messages of one method that the probe server got.
func probeGot(t *testing.T, l *lab.Lab, method string) (found []probed) {
	t.Helper()
	for _, line := range lines(l.Read("probe.jsonl"))[1:] {
		var message probed
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if message.Method == method {
			found = append(found, message)
		}
	}
	return found
}

// wantProbe compares what a client told the probe server with the facts: its name and version, the protocol, and
// the keys of _meta at the tool calls.
func wantProbe(t *testing.T, l *lab.Lab, name, version, protocol string, meta ...string) {
	t.Helper()
	starts := probeGot(t, l, "initialize")
	if len(starts) != 1 {
		t.Fatalf("%d times initialize", len(starts))
	}
	said := starts[0].Params
	if said.ClientInfo.Name != name || said.ClientInfo.Version != version || said.ProtocolVersion != protocol {
		t.Errorf("the client says it is %+v and speaks %s", said.ClientInfo, said.ProtocolVersion)
	}
	for _, call := range probeGot(t, l, "tools/call") {
		var keys []string
		for key := range call.Params.Meta {
			keys = append(keys, key)
		}
		if !slices.Equal(keys, meta) {
			t.Errorf("_meta of a call is %v", call.Params.Meta)
		}
	}
}

// wantEnv compares the environment of the probe server, and its parent as "ppid".
func wantEnv(t *testing.T, l *lab.Lab, want map[string]string) {
	t.Helper()
	env := probeEnv(t, l)
	for key, value := range want {
		if env[key] != value {
			t.Errorf("the MCP server has %s=%q, want %q", key, env[key], value)
		}
	}
}

// looksIn has the model of a client on a terminal call the probe, and returns the request that has the answer.
func looksIn(t *testing.T, c lab.Client, model *lab.Model, p *lab.Proc) *lab.Request {
	t.Helper()
	model.Script(lab.CallMCP(c, "probe", "look", map[string]any{}), lab.Say("I looked."))
	p.Submit("please look")
	p.WaitScreen(0, "I looked.")
	answered := model.WaitText("probe-looked")
	if item := once(t, answered, "probe-looked"); item.Role != "tool" {
		t.Errorf("the tool's answer is shown as %+v", item)
	}
	return answered
}

// keepsDraft types half a prompt while the model thinks, and wants it as the beginning of the next one.
func keepsDraft(t *testing.T, model *lab.Model, p *lab.Proc) {
	t.Helper()
	think := make(chan struct{})
	model.Script(lab.Say("First answer.").After(think), lab.Say("Second answer."))
	p.Submit("first prompt")
	model.WaitText("first prompt")
	mark := p.Out.Mark()
	p.Send("half-a-thought")
	p.WaitScreen(mark, "half-a-thought")
	close(think)
	p.WaitScreen(mark, "First answer.")
	p.Submit("-and-the-rest")
	once(t, model.WaitText("and-the-rest"), "half-a-thought-and-the-rest")
	p.WaitScreen(mark, "Second answer.")
}
