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

// MayHave finds data that may have all words, which are in lower case: it searches for the longest word that every writer's JSON spells
// the same, except for case.
func MayHave(words []string) func(data []byte) bool {
	longest := ""
	for _, word := range words {
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && len(word) > len(longest) {
			longest = word
		}
	}
	return AnyCase(longest).In
}
