package cli

import (
	"slices"
	"strings"
)

// meantOptions has a line for each option: its name, and then names that other programs use for it. No two lines have the same word.
const meantOptions = `F file f input
wait timeout t
limit n count max last
all a
alias name
from as sender session`

// MeantBy returns the first word of the line that has word among its other words; "" if there is no such line.
func MeantBy(lines, word string) string {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); slices.Contains(words[1:], word) {
			return words[0]
		}
	}
	return ""
}
