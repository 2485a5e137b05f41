package cli

import _ "embed"

// The topics: pages of the help that are not about one verb.
var (
	//go:embed topics/environment.txt
	environment string
	//go:embed topics/exit-codes.txt
	exitCodes string
	//go:embed topics/scripting.txt
	scripting string
	//go:embed topics/states.txt
	states string
)

// TopicNames lists the names of the topics.
func TopicNames() []string { return []string{"environment", "exit-codes", "scripting", "states"} }

// Topic returns the page of a topic; ok is false if there is no such topic.
func Topic(name string) (text string, ok bool) {
	switch name {
	case "environment":
		text = environment
	case "exit-codes":
		text = exitCodes
	case "scripting":
		text = scripting
	case "states":
		text = states
	}
	return text, text != ""
}
