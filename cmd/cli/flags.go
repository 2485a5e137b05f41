package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"c2c/sessions"
)

// ErrHelp means that the command line asks for help.
var ErrHelp = errors.New("help was asked for")

// Flags parses the options of a verb, as the verb's row in the table describes them. Package flag
// does not fit: it treats one dash like two, stops at the first word, and has no optional values.
type Flags struct {
	verb  Verb
	bound map[string]func(string) error
	given map[string]bool
}

// NewFlags makes the Flags of a verb. The caller must then bind each option of the verb to a
// variable by one of the methods.
func NewFlags(v Verb) *Flags {
	return &Flags{v, map[string]func(string) error{}, map[string]bool{}}
}

// Has reports whether the verb has this option.
func (f *Flags) Has(name string) bool {
	_, ok := f.verb.option(typed(name))
	return ok
}

// Given is for an option without a value, after Parse: it reports whether the command line sets the
// option.
func (f *Flags) Given(name string) bool { return f.given[name] }

// Parse sets the options, and returns the words. Options may stand before, between and after the
// words. After -- there are only words.
func (f *Flags) Parse(args []string) (words []string, err error) {
	for _, o := range f.verb.Options {
		if f.bound[o.Name] == nil {
			panic(f.verb.Name + " does not bind its option " + o.Name)
		}
	}
	given := map[string][2]string{} // key: the main name of an option; value: the name and the value that were typed
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			words = append(words, args...)
			break
		}
		if !isOption(arg) {
			words = append(words, arg)
			continue
		}
		name, value, has := strings.Cut(arg, "=")
		o, known := f.verb.option(name)
		switch {
		case name == "-h" || name == "--help":
			return nil, ErrHelp
		case !known:
			return nil, f.unknown(name, words)
		case has:
		case o.Value == "" || o.Optional && (f.verb.Args != "" || len(args) == 0 || isOption(args[0])):
			value = "true"
		case len(args) == 0:
			return nil, fmt.Errorf("%w: %s needs %s", ErrUsage, name, aWord(o.Value))
		default:
			value, args = args[0], args[1:]
		}
		switch was, twice := given[o.Name]; {
		case twice && was[0] != name:
			return nil, fmt.Errorf("%w: %s and %s are the same: give one of them", ErrUsage, was[0], name)
		case twice && was[1] != value:
			return nil, fmt.Errorf("%w: %s was given twice, as %q and as %q: give it once%s", ErrUsage, name, was[1], value, o.several())
		}
		given[o.Name] = [2]string{name, value}
		if err := oneOf(name, value, o.Takes); value != "" && err != nil {
			return nil, err
		}
		if err := f.bound[o.Name](value); err != nil {
			return nil, fmt.Errorf("%w: %s", ErrUsage, wrong(o, name, value, err))
		}
		on, err := strconv.ParseBool(value)
		f.given[o.Name] = err == nil && on
	}
	return words, f.verb.check(words)
}

// OneWord is Parse for a verb that needs one of the words in its row.
func (f *Flags) OneWord(args []string) (string, error) {
	words, err := f.Parse(args)
	if err == nil && len(words) != 1 {
		err = fmt.Errorf("%w: one of %s", ErrUsage, AnyOf(strings.Fields(f.verb.First)))
	}
	if err != nil {
		return "", err
	}
	return words[0], nil
}

// AnyOf joins two or more words to a phrase.
func AnyOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// several returns the end of a hint, which says how to give an option several values; "" if the
// option takes only one.
func (o Option) several() string {
	if strings.Contains(o.Short, "with commas") {
		return ", with commas"
	}
	return ""
}

// check checks the words, as far as the row describes them.
func (v Verb) check(words []string) error {
	if len(words) == 0 {
		return nil
	}
	if v.Args == "" {
		err := fmt.Errorf("%w: unexpected %q: %s takes no words", ErrUsage, words[0], v.Name)
		if v.Name == "history" && sessions.CheckAlias(words[0]) == nil {
			err = WithHint(err, "c2c search "+words[0]+" finds the mail from and to "+words[0]+"; c2c help "+v.Name+" shows how")
		}
		return err
	}
	return oneOf(v.Name, words[0], v.First)
}

// oneOf returns an error if word is not among the possible words. If there is only one possible
// word, it is a kind (alias, client, file), which allows any word. name is the verb or option that
// takes the word.
func oneOf(name, word, possible string) error {
	known := strings.Fields(possible)
	if len(known) < 2 || slices.Contains(known, word) {
		return nil
	}
	err := fmt.Errorf("%w: %s %q: want %s", ErrUsage, name, word, AnyOf(known))
	return WithHint(err, DidYouMean(word, slices.DeleteFunc(known, func(k string) bool { return !strings.HasPrefix(k, word[:min(len(word), 1)]) })))
}

// isOption reports whether an argument is an option, not a word or a negative number.
func isOption(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && (arg[1] < '0' || arg[1] > '9')
}

// wrong explains why a value is not valid.
func wrong(o Option, name, value string, err error) string {
	says := err.Error()
	switch {
	case o.Value == "":
		says = "want true or false"
	case strings.Contains(says, strconv.Quote(value)): // the error names the value already
		return name + ": " + says
	case !errors.Is(err, errValue):
	case o.Value == "duration":
		says = "want a duration such as 90s or 5m"
	default:
		says = "want " + aWord(o.Value)
	}
	return fmt.Sprintf("%s %q: %s", name, value, says)
}

func aWord(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

func (f *Flags) unknown(name string, words []string) error {
	word := strings.TrimLeft(name, "-")
	var names []string
	for _, o := range f.verb.Options {
		for _, n := range []string{o.Name, o.Also} {
			if len(n) > 1 && len(word) > 1 || n != "" && strings.EqualFold(n, word) { // so --force is not taken for a misspelt -F
				names = append(names, n)
			}
		}
	}
	hint, takesText := "", strings.Contains(f.verb.Args, "text")
	other := MeantBy(meantOptions, word)
	switch near := sessions.Closest(word, names); {
	case f.Has(other):
		hint = "did you mean " + typed(other) + "?"
		if takesText {
			hint += " Words of a text stand in quotes"
		}
	case takesText && len(words) > 1 && !slices.Contains(names, word):
		hint = "put the text into quotes, or -- before it, if " + name + " is a word of it"
	case len(near) > 0:
		hint = "did you mean " + typed(near[0]) + "?"
	case takesText:
		hint = example(f.verb.Name) + "if " + name + " is text, put -- before it"
	}
	return WithHint(fmt.Errorf("%w: %s has no option %s", ErrUsage, f.verb.Name, name), hint)
}
