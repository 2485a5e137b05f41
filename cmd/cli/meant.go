package cli

import (
	"slices"
	"strings"
)

// meantOptions are, behind an option of ours, words that other programs have for it. No two lines have the same word.
const meantOptions = `F file f input
wait timeout t
limit n count max last
all a
alias name
from as sender session`

// MeantBy is the first word of the line that has the word behind it; empty: no line has it.
func MeantBy(lines, word string) string {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); slices.Contains(words[1:], word) {
			return words[0]
		}
	}
	return ""
}
