package cli

import (
	_ "embed"
	"strings"
)

// Each script asks c2c at every Tab, so that all shells know the same, and an alias is never a part of a script.
var (
	//go:embed completion.bash
	bash string
	//go:embed completion.zsh
	zsh string
	//go:embed completion.fish
	fish string
)

// CompletionScript is what a shell reads to complete c2c's words.
func CompletionScript(shell string) (script string, ok bool) {
	script, ok = map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
	return script, ok
}

// Lines are choices as the scripts read them: a word, a tab and what it means. A line with a colon asks for files.
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
