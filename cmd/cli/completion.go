package cli

import (
	"embed"
	"strings"
)

// completions has the completion script of each shell. A script calls c2c at every Tab. So all shells
// offer the same words, and no alias becomes part of a script.
//
//go:embed completion.bash completion.zsh completion.fish
var completions embed.FS

// CompletionScript returns the completion script for a shell.
func CompletionScript(shell string) (script string, ok bool) {
	text, err := completions.ReadFile("completion." + shell)
	return string(text), err == nil
}

// Lines formats choices for the scripts: each line has a word, a tab, and what the word means. If
// files is true, the last line is a colon, at which the scripts make the shell offer files.
func Lines(choices []Choice, files bool) string {
	var out strings.Builder
	for _, c := range choices {
		out.WriteString(c.Word + "\t" + c.Says + "\n")
	}
	if files {
		out.WriteString(":\n")
	}
	return out.String()
}
