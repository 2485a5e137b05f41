package cli

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// ErrHelp says that help was asked for.
var ErrHelp = flag.ErrHelp

// Flags reads the options of a verb from its row of the table. The standard library keeps the values; it does not read
// the command line, because it takes one dash for two, ends at the first word, and knows no option whose value may be missing.
type Flags struct {
	verb Verb
	set  *flag.FlagSet
}

// NewFlags begins a command line of the verb. Each of its options is then bound to a variable by one of the methods.
func NewFlags(v Verb) *Flags {
	f := &Flags{v, flag.NewFlagSet(v.Name, flag.ContinueOnError)}
	f.set.SetOutput(io.Discard)
	return f
}

// Has says whether the verb has this option.
func (f *Flags) Has(name string) bool {
	_, ok := f.verb.option(typed(name))
	return ok
}

// Var binds an option to a value of the caller's.
func (f *Flags) Var(name string, v flag.Value) {
	o, ok := f.verb.option(typed(name))
	if !ok {
		panic("the row of " + f.verb.Name + " has no option " + name)
	}
	f.set.Var(v, name, "")
	if o.Default != "" {
		if err := v.Set(o.Default); err != nil {
			panic("the default of --" + name + ": " + err.Error())
		}
	}
}

// Func binds an option to a function, which is called when it is given.
func (f *Flags) Func(name string, set func(string) error) { f.Var(name, funcValue(set)) }

type funcValue func(string) error

func (f funcValue) Set(s string) error { return f(s) }
func (f funcValue) String() string     { return "" }

// BoolVar and TextVar bind an option to a variable.
func (f *Flags) BoolVar(p *bool, name string) {
	f.Var(name, made(func(fs *flag.FlagSet) { fs.BoolVar(p, name, false, "") }))
}

func (f *Flags) TextVar(p *string, name string) {
	f.Var(name, made(func(fs *flag.FlagSet) { fs.StringVar(p, name, "", "") }))
}

// Bool, Text, Int and Duration bind an option to a new variable.
func (f *Flags) Bool(name string) *bool {
	p := new(bool)
	f.BoolVar(p, name)
	return p
}

func (f *Flags) Text(name string) *string {
	p := new(string)
	f.TextVar(p, name)
	return p
}

func (f *Flags) Int(name string) *int {
	p := new(int)
	f.Var(name, made(func(fs *flag.FlagSet) { fs.IntVar(p, name, 0, "") }))
	return p
}

func (f *Flags) Duration(name string) *time.Duration {
	p := new(time.Duration)
	f.Var(name, made(func(fs *flag.FlagSet) { fs.DurationVar(p, name, 0, "") }))
	return p
}

// made gives the flag.Value that the standard library makes for a variable.
func made(register func(*flag.FlagSet)) (v flag.Value) {
	var one flag.FlagSet
	register(&one)
	one.VisitAll(func(f *flag.Flag) { v = f.Value })
	return v
}

// Parse sets the options, which may stand before, between and behind the words, and returns the words. After -- all
// are words.
func (f *Flags) Parse(args []string) (words []string, err error) {
	for _, o := range f.verb.Options {
		if f.set.Lookup(o.Name) == nil {
			panic(f.verb.Name + " does not bind its option " + o.Name)
		}
	}
	given := map[string]string{} // by the option's own name, the name that was typed
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			words = append(words, args...)
			break
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			words = append(words, arg)
			continue
		}
		name, value, has := strings.Cut(arg, "=")
		o, known := f.verb.option(name)
		switch {
		case name == "-h" || name == "--help":
			return nil, ErrHelp
		case !known:
			return nil, f.unknown(name)
		case has:
		case o.Value == "" || o.Optional && !(f.verb.Args == "" && len(args) > 0 && !strings.HasPrefix(args[0], "-")):
			value = "true"
		case len(args) == 0:
			return nil, fmt.Errorf("%w: %s needs a value: %s", ErrUsage, name, o.Value)
		default:
			value, args = args[0], args[1:]
		}
		if was := given[o.Name]; was != "" && was != name {
			return nil, fmt.Errorf("%w: %s and %s are the same: give one of them", ErrUsage, was, name)
		}
		given[o.Name] = name
		if err := f.set.Set(o.Name, value); err != nil {
			return nil, fmt.Errorf("%w: %s %q: %s", ErrUsage, name, value, wanted(o, err))
		}
	}
	return words, f.verb.check(words)
}

// check looks at the words as far as the row says what they may be.
func (v Verb) check(words []string) error {
	if len(words) == 0 {
		return nil
	}
	if v.Args == "" {
		return fmt.Errorf("%w: unexpected %q: %s takes no words", ErrUsage, words[0], v.Name)
	}
	known := strings.Fields(v.First)
	if len(known) < 2 || slices.Contains(known, words[0]) { // else it is a kind of word
		return nil
	}
	err := fmt.Errorf("%w: %s %q: want %s or %s", ErrUsage, v.Name, words[0], strings.Join(known[:len(known)-1], ", "), known[len(known)-1])
	return WithHint(err, DidYouMean(words[0], known))
}

// wanted says what is wrong with a value. The standard library says "parse error".
func wanted(o Option, err error) string {
	switch {
	case err.Error() != "parse error" && !strings.Contains(err.Error(), "invalid syntax") && err.Error() != "value out of range":
		return err.Error()
	case o.Value == "duration":
		return "want a duration such as 90s or 5m"
	}
	return "want " + cmp.Or(map[bool]string{true: "true or false"}[o.Value == ""], "a "+o.Value)
}

func (f *Flags) unknown(name string) error {
	var names []string
	for _, o := range f.verb.Options {
		names = append(names, typed(o.Name))
		if o.Also != "" {
			names = append(names, typed(o.Also))
		}
	}
	hint := ""
	if _, ok := f.verb.option("-" + name); ok {
		hint = "did you mean -" + name + "?"
	} else if hint = DidYouMean(name, names); hint == "" && strings.Contains(f.verb.Args, "text") {
		hint = "if it is text, put -- before it"
	}
	return WithHint(fmt.Errorf("%w: %s has no option %s", ErrUsage, f.verb.Name, name), hint)
}
