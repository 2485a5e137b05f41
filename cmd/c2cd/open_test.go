package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

var linkOfPage = regexp.MustCompile(`http://127\.0\.0\.1:\d+/login#(\S+)`)

// enter uses a link, as the page does.
func (h *host) enter(code string) (status int) {
	h.t.Helper()
	body, _ := json.Marshal(map[string]string{"code": code})
	resp, err := http.Post("http://127.0.0.1:"+h.port+"/login", "application/json", bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestAPersonOpensThePageOnceAndAnAgentNever(t *testing.T) {
	h := newHost(t)
	if out := h.types("c2c open --print"); !strings.Contains(out, "c2c serve start") {
		t.Errorf("without a daemon: %s", out)
	}
	h.run("serve", "start", "--port", h.port)
	if page, err := h.try("open", "--print"); err == nil {
		t.Errorf("without a terminal: %s", page)
	}
	if out := h.types("c2c open --print", "CLAUDE_CODE_SESSION_ID=claude-1", "CLAUDECODE=1"); linkOfPage.MatchString(out) {
		t.Errorf("in an agent's shell: %s", out)
	}
	out := h.types("c2c open") // there is no screen to show a browser on
	found := linkOfPage.FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("%s", out)
	}
	if status := h.enter(found[1]); status != http.StatusOK {
		t.Errorf("a fresh link: %d", status)
	}
	if status := h.enter(found[1]); status != http.StatusForbidden {
		t.Errorf("a link that was used: %d", status)
	}
	log, err := os.ReadFile(h.file("daemon", "daemon.log"))
	if err != nil || bytes.Contains(log, []byte(found[1])) {
		t.Errorf("the log holds the code, or %v", err)
	}
}
