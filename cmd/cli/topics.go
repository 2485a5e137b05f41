package cli

import (
	"embed"
	"strings"
)

// topics are the pages of the help that are about no single verb.
//
//go:embed topics/*.txt
var topics embed.FS

// TopicNames lists them.
func TopicNames() []string { return []string{"environment", "exit-codes", "scripting", "states"} }

// Topic gives the page with that name.
func Topic(name string) (text string, ok bool) {
	data, err := topics.ReadFile("topics/" + name + ".txt")
	return string(data), err == nil && !strings.Contains(name, "/")
}
