package cli

import (
	"cmp"
	"os"
	"strings"

	"c2c/client"
	"c2c/internal/proc"
	"c2c/sessions"
)

// Verb is one command, of c2c or of c2cd. A new verb needs a row in the table of its group, and its
// function: one of c2cd adds itself in its file, one of c2c has a line in cmd/c2c/commands.go,
// because a list that is grown at the start would slow each hook.
//
// In its texts, {client} stands for the name of a client, {clients} for all names, and {wire} for
// the command that starts an agent with the Wire protocol.
type Verb struct {
	Name     string
	Everyday bool   // the short help (Overview) has a line for the verb
	C2cd     bool   // the verb is in c2cd
	Args     string // the arguments, as the help shows them; "" for none
	First    string // the kind of the first word: alias, client, file, message, received (a message that came here); or all allowed words
	Second   string // the kind of the second word: room
	Short    string // the description, in a few words
	Long     string // the long description, in lines of at most 80 columns, each with a line end
	Options  []Option
	Exit     string // the explanation of the exit status; "" for the usual one
	Examples []string
	Verbs    []Verb // the verbs below this verb, each with its own help; their names begin with this verb's name
}

// Of is for a verb v with verbs below it. If the first word in args names such a verb, Of returns
// that verb and the other arguments. Otherwise it returns v and args.
func (v Verb) Of(args []string) (Verb, []string) {
	for i, arg := range args {
		if isOption(arg) {
			continue
		}
		for _, own := range v.Verbs {
			if own.Name == v.Name+" "+arg {
				return own, append(args[:i:i], args[i+1:]...)
			}
		}
		break
	}
	return v, args
}

// Option is one option of a verb. A name of one letter has one dash, as in -F.
type Option struct {
	Name     string
	Also     string // another name
	Value    string // the name of its value; "" for none
	Optional bool   // the value may be left out. It stands after =; if the verb has no Args, it may also be the next word
	Default  string
	Takes    string // the kind of the value, as in Verb.First
	Short    string
	Aside    bool // only the pages show the option (man, docs/commands), because the output of c2c help must fit on a screen
}

// The options that several verbs have.
var (
	asJSON    = Option{Name: "json", Short: "print JSON, errors too"}
	asSession = Option{Name: "session-id", Also: "from", Value: "session", Takes: "alias", Short: "act for this session or alias, not for your own"}
	dryRun    = Option{Name: "dry-run", Short: "show what would change, and change nothing"}
	inProject = Option{Name: "project", Value: "name", Short: "in another project of yours, for a person only"}
	limit     = Option{Name: "limit", Value: "number", Default: "50", Short: "how many at most; 0 for all"}
)

// Group is a group of verbs in the help, with its heading.
type Group struct {
	Title string
	Verbs []Verb
}

// table has all verbs, in the order of the help.
var table = [...]Group{
	{"Write", writing}, {"Read", reading}, {"Together", together}, {"Sessions", sessionList}, {"Set up", setup}, {"Keep", keeping}, {"Over HTTP", face}, {"Other machines", machines}, {forClients, inside},
}

const forClients = "For clients"

// Groups lists all verbs by their groups.
func Groups() []Group { return table[:] }

// Verbs lists all verbs.
func Verbs() (all []Verb) {
	for _, g := range table {
		all = append(all, g.Verbs...)
	}
	return all
}

// VerbNames lists the names of all verbs, and the other words for them.
func VerbNames() (names []string) {
	for _, v := range Verbs() {
		names = append(names, v.Name)
	}
	for _, o := range otherWords {
		names = append(names, o.word)
	}
	return names
}

// Find returns a verb by its name, or by another word for it. It must not build a list first,
// because every hook calls it.
func Find(name string) (Verb, bool) {
	for i := range table {
		for j := range table[i].Verbs {
			if table[i].Verbs[j].Name == name {
				return table[i].Verbs[j], true
			}
		}
	}
	for i := range otherWords {
		if otherWords[i].word == name {
			return Find(otherWords[i].verb)
		}
	}
	return Verb{}, false
}

// otherWords are words that people type for a verb with an option. Some of them are verbs of the
// OCaml c2c or of earlier versions, the others are shorter.
var otherWords = [...]struct{ word, verb, with string }{
	{"send-all", "send", "all"},
	{"peek-inbox", "poll-inbox", "--peek"},
	{"outbox", "history", "--sent"},
	{"dead-letter", "history", "--dead"},
	{"thread", "status", "--thread"},
	{"claims", "claim", "--list"},
	{"release", "claim", "--release"},
	{"deny", "allow", "--refuse"},
	{"open", "serve", "open"},
	{"migrate-root", "project", "merge"},
}

// Spelled returns the arguments of a command with the verb's own name.
func Spelled(args []string) []string {
	for _, o := range otherWords {
		if len(args) > 0 && args[0] == o.word {
			return append([]string{o.verb, o.with}, args[1:]...)
		}
	}
	return args
}

// typed returns an option's name with its dashes.
func typed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func (v Verb) option(typedAs string) (Option, bool) {
	for _, o := range v.Options {
		if typed(o.Name) == typedAs || o.Also != "" && typed(o.Also) == typedAs {
			return o, true
		}
	}
	return Option{}, false
}

// fill replaces {client}, {clients} and {wire} in a text.
func fill(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	names := client.Names()
	return strings.NewReplacer("{client}", names[0], "{clients}", strings.Join(names, ", "), "{wire}", strings.Join(client.Wire(), " ")).Replace(text)
}

// Here returns the client that an example names on this machine: one whose program is on the PATH,
// or else the first client.
func Here() string {
	all := client.All()
	for i := range all { // no copies: a profile is large
		if _, err := proc.LookPath(cmp.Or(all[i].Program, all[i].Name), os.Getenv); err == nil {
			return all[i].Name
		}
	}
	return all[0].Name
}

// fillHere replaces {client} in an example, so that a person can try the example on this machine.
func fillHere(example string) string { return strings.ReplaceAll(example, "{client}", Here()) }

// DidYouMean returns a hint that names the most similar word in words; "" if none is similar.
func DidYouMean(word string, words []string) string {
	near := sessions.Closest(word, words)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + near[0] + "?"
}
