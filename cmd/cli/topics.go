package cli

import (
	"embed"
	"strings"
)

// topics has the pages of the help that are not about one verb. A new topic is a new file.
//
//go:embed topics/*.txt
var topics embed.FS

// TopicNames lists the names of the topics.
func TopicNames() (names []string) {
	files, _ := topics.ReadDir("topics") // it is in the program
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}

// Topic returns the page of a topic; ok is false if there is no such topic.
func Topic(name string) (text string, ok bool) {
	page, err := topics.ReadFile("topics/" + name + ".txt")
	return string(page), err == nil
}
