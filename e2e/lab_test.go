package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
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

// cancelsOnce wants the call cancelled after it was answered.
func cancelsOnce(t *testing.T, l *lab.Lab) {
	t.Helper()
	eventually(t, func() bool { return len(probeGot(t, l, "notifications/cancelled")) > 0 }) // the probe may not have read it yet
	if n := len(probeGot(t, l, "notifications/cancelled")); n != 1 {
		t.Errorf("%d calls are cancelled after they were answered", n)
	}
}

// wantProbe compares what a client told the probe server with the facts: its name and version, the
// protocol, and the keys of _meta at the tool calls.
func wantProbe(t *testing.T, l *lab.Lab, name, version, protocol string, meta ...string) {
	t.Helper()
	for _, start := range probeGot(t, l, "initialize") {
		said := start.Params
		if said.ClientInfo.Name != name || said.ClientInfo.Version != version || said.ProtocolVersion != protocol {
			t.Errorf("the client says it is %+v and speaks %s", said.ClientInfo, said.ProtocolVersion)
		}
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

// probeStarts returns the environment of each process of the probe server, with its parent as
// "ppid".
func probeStarts(t *testing.T, l *lab.Lab) (all []map[string]string) {
	t.Helper()
	for _, line := range lines(l.Read("probe.jsonl")) {
		var started struct {
			Env  []string
			Ppid int
		}
		if err := json.Unmarshal([]byte(line), &started); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if started.Ppid == 0 {
			continue // a message
		}
		env := map[string]string{"ppid": strconv.Itoa(started.Ppid)}
		for _, variable := range started.Env {
			key, value, _ := strings.Cut(variable, "=")
			env[key] = value
		}
		all = append(all, env)
	}
	return all
}

func wantEnv(t *testing.T, env, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if env[key] != value {
			t.Errorf("the MCP server has %s=%q, want %q", key, env[key], value)
		}
	}
}

// parent returns the parent of a process.
func parent(t *testing.T, pid string) string {
	t.Helper()
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "\nPPid:")
	return strings.Fields(after)[0]
}

// looksIn gives a client on a terminal a prompt, at which its model calls the probe and sees the
// answer.
func looksIn(t *testing.T, c lab.Client, model *lab.Model, p *lab.Proc, prompt string) {
	t.Helper()
	model.Script(lab.CallMCP(c, "probe", "look", map[string]any{}), lab.Say("Looked: "+prompt))
	p.Submit(prompt)
	answered := model.WaitFor("the probe's answer", func(turns []*lab.Request) *lab.Request {
		for _, r := range turns {
			if len(r.Find(prompt)) > 0 && r.Last().Role == "tool" {
				return r
			}
		}
		return nil
	})
	if !strings.Contains(answered.Last().Text, "probe-looked") {
		t.Errorf("the tool's answer is shown as %+v", answered.Last())
	}
	p.WaitShown("Looked: " + prompt)
}

// clears begins a new conversation by a command, and waits until the end of the old one is gone.
// What is typed before the client shows one of ready may be lost.
func clears(p *lab.Proc, command, end string, ready ...string) {
	p.Command(command)
	p.WaitGone(end)
	p.WaitShown(ready...)
}

// keepsDraft types half a prompt while the model thinks, and wants it as the beginning of the next
// one.
func keepsDraft(t *testing.T, model *lab.Model, p *lab.Proc) {
	t.Helper()
	think := make(chan struct{})
	model.Script(lab.Say("First answer.").After(think))
	p.Submit("first prompt")
	model.WaitText("first prompt")
	p.Send("half-a-thought")
	p.WaitShown("half-a-thought")
	close(think)
	p.WaitShown("First answer.")
	p.Submit("-and-the-rest")
	once(t, model.WaitText("and-the-rest"), "half-a-thought-and-the-rest")
}
