package cli

import (
	"slices"
	"strings"
)

// meantOptions is for mistyped options. Each line has the name of an option, and then names that other programs use for such an option. No
// two lines have the same word.
const meantOptions = `F file f input
wait timeout t
limit n count max last
all a
alias name
from as sender session`

// MeantBy searches lines such as meantOptions for word, but not in the first word of each line. It returns the first word of the line that
// has word; "" if no line has it.
func MeantBy(lines, word string) string {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); slices.Contains(words[1:], word) {
			return words[0]
		}
	}
	return ""
}
