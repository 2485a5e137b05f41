package cli

import (
	_ "embed"
	"strings"
)

// Each script calls c2c at every Tab. So all shells offer the same words, and no alias becomes part
// of a script.
var (
	//go:embed completion.bash
	bash string
	//go:embed completion.zsh
	zsh string
	//go:embed completion.fish
	fish string
)

// CompletionScript returns the completion script for a shell.
func CompletionScript(shell string) (script string, ok bool) {
	script, ok = map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
	return script, ok
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
