package e2e

import (
	"strings"
	"testing"

	"c2c/client"
	"c2c/e2e/lab"
)

// The provider has told the client the numbers; the client records them, and the list shows them.
func countsTokens(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, alias string, want client.Tokens) {
	t.Helper()
	model.Script(lab.Reply{Text: "Counted.", Cached: 3000})
	p.Submit("prompt-count")
	p.WaitShown("Counted.")
	l.WaitUntil("tokens of "+alias, func() bool { return listed(l, alias).Tokens == want })
	if text := l.Run(c2c(), "list"); !strings.Contains(text, "TOKENS") || !strings.Contains(text, "3.1k") {
		t.Errorf("list says\n%s", text)
	}
	if text := l.Run(c2c(), "stats"); !strings.Contains(text, "3.1k") {
		t.Errorf("stats say\n%s", text)
	}
}

func TestTheTokensOfAClaudeAreThoseOfItsProvider(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	countsTokens(t, l, model, p, "amber", client.Tokens{Input: 3100, Output: 20})
}

// Codex also records all tokens of a thread, here of three requests.
func TestTheTokensOfACodexAreThoseOfItsProvider(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	countsTokens(t, l, model, p, "cody", client.Tokens{Input: 3100, Output: 20, Total: 3360, Window: 258_400})
}

func TestTheTokensOfAQwenAreThoseOfItsProvider(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	countsTokens(t, l, model, p, "amber", client.Tokens{Input: 3100, Output: 20})
}

func TestTheTokensOfAGeminiAreThoseOfItsProvider(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	countsTokens(t, l, model, p, "amber", client.Tokens{Input: 3100, Output: 20})
}

func TestTheTokensOfAKimiAreThoseOfItsProvider(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	countsTokens(t, l, model, p, "amber", client.Tokens{Input: 3100, Output: 20})
}
