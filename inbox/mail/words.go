package mail

import (
	"slices"
	"strings"
)

// SearchWords returns the words that a user has typed for a search, in lower case.
func SearchWords(typed []string) []string {
	return strings.Fields(strings.ToLower(strings.Join(typed, " ")))
}

// HasAllWords reports whether a text contains all words. The words must be in lower case; the case
// of the text does not count.
func HasAllWords(text string, words []string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// MayHaveWords makes a function that reports whether data may have all words. The words must be in
// lower case. The function searches for one word: the longest of those that all programs write the
// same way in JSON, except for case.
func MayHaveWords(words []string) func(data []byte) bool {
	longest := ""
	for _, word := range words {
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && len(word) > len(longest) {
			longest = word
		}
	}
	return AnyCaseFinder(longest).In
}
