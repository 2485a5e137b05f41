package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/client"
)

func FuzzLogs(f *testing.F) {
	for _, text := range []string{
		`{"type":"turn.prompt"}` + "\n" + `{"type":"context.append_loop_event","event":{"type":"step.end","finishReason":"stop"}}`,
		`{"id":"1","type":"user","content":[{"text":"do it"}]}` + "\n" + `{"$set":{"messages":[],"summary":"x"}}`,
		strings.Repeat(`{"event":`, 11_000), // deeper than JSON may be
		"\n[]\n\x00\xff\u2028\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(lastLineCounts)
}

func TestALongLineInALogHidesNothingBehindIt(t *testing.T) {
	t.Parallel()
	for _, line := range []string{strings.Repeat("x", client.LogTail+7), `{"type":"` + strings.Repeat("y", client.LogTail-20) + `"}`} {
		lastLineCounts(t, []byte(line))
	}
}

// lastLineCounts checks that what a client has logged before, whole or damaged, does not change
// what the last line says.
func lastLineCounts(t *testing.T, before []byte) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	endsWith := func(last string) string {
		if err := os.WriteFile(log, append(append([]byte{}, before...), "\n"+last+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		return log
	}
	if runs, stops := client.KimiTurn(endsWith(`{"type":"turn.ended"}`)); runs || stops {
		t.Errorf("a turn that is over: %v, %v", runs, stops)
	}
	if runs, stops := client.KimiTurn(endsWith(`{"type":"agent.turn.started"}`)); !runs || stops {
		t.Errorf("a turn that begins: %v, %v", runs, stops)
	}
	if _, answered := geminiTurn(endsWith(`{"type":"gemini"}`)); !answered {
		t.Error("an answer is none")
	}
	if began, answered := geminiTurn(endsWith(`{"type":"user","timestamp":"2026-11-21T12:00:00Z","content":[{"text":"x"}]}`)); began.Year() != 2026 || answered {
		t.Errorf("a prompt: %v, %v", began, answered)
	}
	if geminiForgot(endsWith(`{"type":"user","content":"x"}`)) {
		t.Error("a prompt was forgotten")
	}
	if !geminiDone(endsWith(`{"$set":{"summary":"x"}}`)) || geminiDone(endsWith(`{"id":"2"}`)) {
		t.Error("a summary is none, or a line is one")
	}
}
