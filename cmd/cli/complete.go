package cli

import (
	"slices"
	"strings"

	"c2c/client"
)

// Choice is a word that completion offers, and what the word means.
type Choice struct{ Word, Says string }

// Complete lists the completions of the last word. The argument words has all words after c2c. If
// files is true, the shell completes file names instead. If an alias, a message, a received message
// or a room is expected, the function find returns the choices of this kind.
func Complete(words []string, find func(kind string) []Choice) (choices []Choice, files bool) {
	if len(words) == 0 {
		words = []string{""}
	}
	words = joined(words)
	if len(words) > 1 { // the last word may yet become a longer one
		words = Spelled(words)
	}
	last := words[len(words)-1]
	kind, kept := expected(words)
	switch kind {
	case "file":
		return nil, true
	case "verb":
		for _, v := range Verbs() {
			choices = append(choices, Choice{v.Name, v.Short})
		}
		for _, o := range otherWords {
			choices = append(choices, Choice{o.word, "is " + o.verb + " " + o.with})
		}
		choices = append(choices, Choice{"help", "tell more of a verb"})
	case "topic":
		choices, _ = Complete([]string{""}, find)
		for _, name := range TopicNames() {
			choices = append(choices, Choice{name, "a topic"})
		}
		choices = append(choices, Choice{"all", "all verbs"})
	case "option":
		v, _ := Find(words[0])
		v, _ = v.Of(words[1:])
		for _, o := range v.Options {
			choices = append(choices, Choice{typed(o.Name), o.Says()})
			if o.Also != "" {
				choices = append(choices, Choice{typed(o.Also), o.Says()})
			}
		}
		choices = append(choices, Choice{"--help", "tell more of it"})
	case "alias", "message", "received", "room":
		choices = find(kind)
	case "client":
		for _, p := range client.All() {
			choices = append(choices, Choice{Word: p.Name})
		}
	default:
		for _, word := range strings.Fields(kind) { // a list of the possible words
			choices = append(choices, Choice{Word: word})
		}
	}
	for i := range choices {
		choices[i].Word = kept + choices[i].Word
	}
	return slices.DeleteFunc(choices, func(c Choice) bool { return !strings.HasPrefix(c.Word, last) }), false
}

// joined joins the parts of --option=value, which bash splits into three words.
func joined(words []string) (out []string) {
	for i, word := range words {
		n := len(out)
		switch {
		case word == "=" && n > 0 && strings.HasPrefix(out[n-1], "--") && i == len(words)-1:
			out = append(out, "")
		case word == "=" && n > 0 && strings.HasPrefix(out[n-1], "--"):
		default:
			out = append(out, word)
		}
	}
	return out
}

// expected returns the kind of the last word: a kind as in Verb.First, or "verb", "topic" or
// "option". Completion replaces the last word, except a part at its beginning such as --kind=. The
// result kept is this part.
func expected(words []string) (kind, kept string) {
	last, rest := words[len(words)-1], words[:len(words)-1]
	if len(rest) == 0 {
		return "verb", ""
	}
	v, known := Find(rest[0])
	switch {
	case rest[0] == "help" && len(rest) == 1:
		return "topic", ""
	case !known:
		return "", ""
	}
	v, rest = v.Of(rest[1:])
	taken := 0 // the number of words before the last word, without options
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		o, isOption := v.option(word)
		switch {
		case word == "--":
			return "file", ""
		case isOption && o.Value != "" && !o.Optional && i == len(rest)-1:
			return o.Takes, ""
		case isOption && o.Value != "" && !o.Optional:
			i++
		case !strings.HasPrefix(word, "-") || word == "-":
			taken++
		}
	}
	if name, _, has := strings.Cut(last, "="); has && strings.HasPrefix(last, "--") {
		o, _ := v.option(name)
		return o.Takes, name + "="
	}
	switch {
	case strings.HasPrefix(last, "-"):
		return "option", ""
	case taken == 0, v.First == "alias" && taken < strings.Count(v.Args, "<"): // c2c handover takes two aliases
		return v.First, ""
	case taken == 1:
		return v.Second, ""
	}
	return "", ""
}
