package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/wake/mux"
	"c2c/wake/screen"
)

// What a real Claude Code drew, as screen's hardcopy gives it: without colours, and of each character but
// the rules, which wake/mux puts back, the low byte.
func TestAPromptIsRecognisedWithoutItsHighBytes(t *testing.T) {
	for name, want := range map[string]bool{"claude-idle": true, "claude-draft": false, "claude-dialog": false, "claude-busy": false} {
		drawn, err := os.ReadFile(filepath.Join("..", "..", "wake", "screen", "testdata", name+".raw"))
		if err != nil {
			t.Fatal(err)
		}
		s := screen.New(40, 120)
		s.Write(drawn)
		var lines []string
		for i := range s.Rows() {
			lines = append(lines, strings.Map(func(r rune) rune {
				if r == '─' {
					return r
				}
				return r & 0xff
			}, screen.Text(s.Line(i))))
		}
		row, col, _ := s.Cursor()
		if err := idle("claude", mux.Screen)(lines, row, col); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
