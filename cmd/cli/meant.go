package cli

import (
	"errors"
	"slices"
	"strings"
)

// meantOptions is for mistyped options. Each line has the name of an option, and then names that
// other programs use for such an option. No two lines have the same word.
const meantOptions = `F file f input
wait timeout t
limit n count max last
all a
alias name
from as sender session`

// MeantBy looks for a word in lines such as meantOptions. If the word is in a line, but not as its
// first word, MeantBy returns the first word of that line; otherwise "".
func MeantBy(lines, word string) string {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); slices.Contains(words[1:], word) {
			return words[0]
		}
	}
	return ""
}

// WithExample adds a hint to an error about the command line: an example that begins with as many
// of the typed words as possible, at least with two. Any other example would mislead. Without such
// an example, the hint only names the help.
func WithExample(err error, typed []string) error {
	words := slices.DeleteFunc(slices.Clone(typed), isOption)
	if !errors.Is(err, ErrUsage) || errors.As(err, new(hinted)) || len(words) < 2 {
		return err
	}
	v, known := Find(words[0])
	if forms := strings.Fields(v.First); !known || len(forms) < 2 || !slices.Contains(forms, words[1]) {
		return err
	}
	own, _ := v.Of(words[1:])
	shows := "c2c help " + own.Name + " shows how"
	for n := len(words); n > 1; n-- {
		begin := "c2c " + strings.Join(words[:n], " ") + " "
		for _, e := range own.Examples {
			if strings.HasPrefix(e+" ", begin) {
				return WithHint(err, "such as: "+fillHere(e)+"; "+shows)
			}
		}
	}
	return WithHint(err, shows)
}
