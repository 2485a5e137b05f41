package finder

import (
	"slices"
	"strings"
)

// Words returns the words that a user has typed for a search, in lower case.
func Words(typed []string) []string {
	return strings.Fields(strings.ToLower(strings.Join(typed, " ")))
}

// HasAll reports whether a text contains all words, which are in lower case. The case of the text does not count.
func HasAll(text string, words []string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}
