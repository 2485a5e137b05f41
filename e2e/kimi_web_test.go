package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// kimiWeb starts `kimi web`. ask is what its page in a browser would ask the server.
func kimiWeb(t *testing.T) (l *lab.Lab, model *lab.Model, ask func(path string, body map[string]any) (id string)) {
	t.Helper()
	l, model = kimiMail(t)
	l.Terminal(l.KimiEnv(), "/bin/sh", "-c", "exec kimi web --no-open --port 0")
	var server struct{ Port int }
	l.WaitUntil("server of kimi web", func() bool {
		files, _ := filepath.Glob(l.Home + "/.kimi-code/server/instances/*.json")
		for _, file := range files {
			data, _ := os.ReadFile(file)
			json.Unmarshal(data, &server)
		}
		return server.Port != 0
	})
	return l, model, func(path string, body map[string]any) string {
		t.Helper()
		data, _ := json.Marshal(body)
		r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/api/v1%s", server.Port, path), strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(l.Read(".kimi-code/server.token")))
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var said struct {
			Code int
			Msg  string
			Data struct{ ID string }
		}
		if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || said.Code != 0 {
			t.Fatalf("%s: %v, %+v", path, err, said)
		}
		return said.Data.ID
	}
}

// kimiSession makes a session whose first turn is over.
func kimiSession(l *lab.Lab, model *lab.Model, ask func(string, map[string]any) string, prompt string, first lab.Reply) (id string) {
	id = ask("/sessions", map[string]any{"metadata": map[string]string{"cwd": l.Project}})
	model.Script(first, lab.Say("Begun."))
	ask("/sessions/"+id+"/prompts", map[string]any{"content": []any{map[string]string{"type": "text", "text": prompt}}, "model": "lab", "permission_mode": "auto"})
	l.WaitFile(".kimi-code/sessions/*/"+id+"/agents/main/wire.jsonl", `"type":"turn.ended"`)
	return id
}

// Its sessions share a process. Each has its own mail, and is woken over the server.
func TestIdleSessionsOfKimiWebAreWoken(t *testing.T) {
	t.Parallel()
	l, model, ask := kimiWeb(t)
	kimiSession(l, model, ask, "prompt-of-amber", kimiTool("me", map[string]any{"alias": "amber"}))
	kimiSession(l, model, ask, "prompt-of-the-other", kimiTool("me", map[string]any{}))
	var others []string
	for _, line := range lines(l.Run(c2c(), "list", "--all")) {
		if strings.Contains(line, "kimi") && !strings.HasPrefix(line, "amber") {
			others = append(others, strings.Fields(line)[0])
		}
	}
	if len(others) != 1 {
		t.Fatalf("besides amber there are %q", others)
	}
	for alias, prompt := range map[string]string{"amber": "prompt-of-amber", others[0]: "prompt-of-the-other"} {
		model.Script(lab.Say("Woken."))
		l.Run("sh", "-c", sendAs("birch", alias, "for-"+alias))
		r := model.WaitText("word-for-" + alias)
		once(t, r, "word-for-"+alias)
		if once(t, r, "message_pending"); len(r.Find(prompt)) == 0 {
			t.Errorf("the mail of %s went to another session:\n%s", alias, r)
		}
		wantRead(t, l, "id-for-"+alias, "read by hook")
	}
	wantRings(t, l, 2)
}

// What the server did there, the window would not show.
func TestASessionThatAWindowHasOpenIsNotWokenOverItsServer(t *testing.T) {
	t.Parallel()
	l, model, ask := kimiWeb(t)
	id := kimiSession(l, model, ask, "prompt-one", kimiTool("me", map[string]any{"alias": "amber"}))
	p := l.KimiTUI("--session", id)
	l.WaitFile(".c2c/repos/*/broker/registry.json", fmt.Sprintf(`"pid":%d,`, p.Pid()))
	model.Script(lab.Say("Seen."))
	ask("/sessions/"+id+"/prompts", map[string]any{"content": []any{map[string]string{"type": "text", "text": "prompt-two"}}})
	l.WaitFileCount(".kimi-code/sessions/*/"+id+"/agents/main/wire.jsonl", `"type":"turn.ended"`, 2)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	model.Script(lab.Say("Answered."))
	p.Submit("prompt-three")
	p.WaitShown("Answered.")
	r := model.WaitText("word-meanwhile")
	if once(t, r, "prompt-three"); len(r.Find("message_pending")) > 0 || rings(l, "rang") > 0 {
		t.Errorf("the server was given a prompt:\n%s", r)
	}
	wantRead(t, l, "id-meanwhile", "read by hook")
}
