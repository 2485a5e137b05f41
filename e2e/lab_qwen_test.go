package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// qwenLab is a lab whose Qwen has the probe server.
func qwenLab(t *testing.T) (*lab.Lab, *lab.Model) {
	l, model := newLab(t), lab.NewModel(t)
	program, args := probe(t, l)
	l.SeedQwen(map[string]any{"mcpServers": map[string]any{"probe": map[string]any{
		"command": program, "args": args}}})
	return l, model
}

// qwenSession is what Qwen says of a running session in sessions/<pid>.json.
type qwenSession struct {
	PID                                int
	SessionID, Kind, IPCPath, IPCToken string
}

func qwenSessionOf(t *testing.T, l *lab.Lab, pid string) (s qwenSession) {
	t.Helper()
	if err := json.Unmarshal([]byte(l.Read(".qwen/sessions/"+pid+".json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLabQwenAnswersOnePrompt(t *testing.T) {
	t.Parallel()
	l, model := qwenLab(t)
	model.Script(lab.CallMCP(lab.Qwen, "probe", "look", map[string]any{}), lab.Say("I looked."))
	if out := l.QwenPrompt(model, "please look").Wait(); !strings.Contains(out, "I looked.") {
		t.Errorf("qwen -p printed %q", out)
	}
	once(t, model.Wait(1), "probe-looked")
	env := probeStarts(t, l)[0]
	if env["QWEN_CODE_SESSION_ID"] == "" || env["QWEN_CODE_MESSAGING_SOCKET"] != "" {
		t.Errorf("under -p the MCP server has session %q and socket %q", env["QWEN_CODE_SESSION_ID"], env["QWEN_CODE_MESSAGING_SOCKET"])
	}
	if records, _ := filepath.Glob(l.Home + "/.qwen/sessions/*"); len(records) > 0 {
		t.Errorf("qwen -p left %v", records)
	}
}

// The session is a grandchild of the process that was started. What /clear changes, only its record
// tells.
func TestLabQwenCallsMCPToolsAndKeepsADraft(t *testing.T) {
	t.Parallel()
	l, model := qwenLab(t)
	p := l.QwenTUI(model)
	looksIn(t, lab.Qwen, model, p, "prompt-one")
	env := probeStarts(t, l)[0]
	record := qwenSessionOf(t, l, env["ppid"])
	wantProbe(t, l, "qwen-cli-mcp-client-probe", "0.0.1", "2025-11-25", "progressToken")
	wantEnv(t, env, map[string]string{
		"ppid":                       strconv.Itoa(record.PID),
		"QWEN_CODE_LAUNCHER_PID":     strconv.Itoa(p.Pid()),
		"QWEN_CODE_SESSION_ID":       record.SessionID,
		"QWEN_CODE_MESSAGING_SOCKET": record.IPCPath,
	})
	if token := env["QWEN_CODE_MESSAGING_TOKEN"]; token == "" || token == record.IPCToken || record.Kind != "tui" {
		t.Errorf("the MCP server has the token %q, the record says %+v", token, record)
	}
	if launcher := parent(t, parent(t, env["ppid"])); launcher != strconv.Itoa(p.Pid()) {
		t.Errorf("the session's grandparent is %s, started was %d", launcher, p.Pid())
	}
	if info, err := os.Stat(env["QWEN_CODE_PROJECT_DIR"] + "/chats/" + record.SessionID + ".jsonl"); err != nil || info.Size() == 0 {
		t.Errorf("the session's chat: %v", err)
	}

	clears(p, "/clear", "Looked: prompt-one", "Type your message")
	l.WaitUntil("another session in the record", func() bool {
		return !strings.Contains(l.Read(".qwen/sessions/"+env["ppid"]+".json"), record.SessionID)
	})
	looksIn(t, lab.Qwen, model, p, "prompt-two")
	if cleared := qwenSessionOf(t, l, env["ppid"]); cleared.SessionID == record.SessionID || cleared.IPCPath != record.IPCPath {
		t.Errorf("after /clear the record says %+v, before %+v", cleared, record)
	}
	if starts := probeStarts(t, l); len(starts) != 1 {
		t.Errorf("after /clear there are %d MCP servers", len(starts))
	}
	keepsDraft(t, model, p)
}
