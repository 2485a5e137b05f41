package cli

import (
	"errors"
	"strconv"
	"time"
)

// Func binds an option to a function. It calls the function with the option's default, and Parse
// with the typed value; an option without a value gets "true".
func (f *Flags) Func(name string, set func(string) error) {
	o, ok := f.verb.option(typed(name))
	if !ok {
		panic("the row of " + f.verb.Name + " has no option " + name)
	}
	f.bound[name] = set
	if o.Default != "" {
		if err := set(o.Default); err != nil {
			panic("the default of --" + name + ": " + err.Error())
		}
	}
}

// errValue means that a value is not valid. Parse does not print the text of errValue, but which
// values the option's row in the table allows.
var errValue = errors.New("invalid value")

// BoolVar and TextVar bind an option to the variable p.
func (f *Flags) BoolVar(p *bool, name string) {
	f.Func(name, func(s string) (err error) {
		if *p, err = strconv.ParseBool(s); err != nil {
			return errValue
		}
		return nil
	})
}

func (f *Flags) TextVar(p *string, name string) {
	f.Func(name, func(s string) error {
		*p = s
		return nil
	})
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
	f.Func(name, func(s string) error {
		n, err := strconv.ParseInt(s, 0, strconv.IntSize)
		if err != nil {
			return errValue
		}
		*p = int(n)
		return nil
	})
	return p
}

func (f *Flags) Duration(name string) *time.Duration {
	p := new(time.Duration)
	f.Func(name, func(s string) (err error) {
		*p, err = parseDuration(s)
		return err
	})
	return p
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errValue
	}
	return d, nil
}

// Wait is the value of an option such as --wait, after which the duration may be left out.
type Wait struct {
	Given   bool
	ForEver bool // no duration was typed, so the wait has no limit
	Limit   time.Duration
}

func (w *Wait) Set(s string) (err error) {
	*w = Wait{Given: true, ForEver: s == "true"}
	if !w.ForEver {
		w.Limit, err = parseDuration(s)
	}
	return err
}
