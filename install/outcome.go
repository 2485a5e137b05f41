package install

import (
	"fmt"
	"slices"
	"strings"

	"c2c/client"
	"c2c/internal/format"
	"c2c/internal/proc"
)

// Outcome describes in one line the result of an applied install.
func (p *Plan) Outcome(o Options) string {
	s, _, err := findSetup(p.Client, o)
	if err != nil || p.byPlugin {
		return "nothing to change"
	}
	var said []string
	switch {
	case p.Empty():
		said = append(said, "nothing to change")
	case o.InProject:
		said = append(said, "set up for "+top(o.Project))
	default:
		said = append(said, "set up")
	}
	if _, err := proc.LookPath(client.ProgramOf(p.Client), o.Getenv); err != nil {
		said = append(said, "it is not installed here")
	}
	byHand := HTTPByHand(p.Client, o)
	if byHand {
		said = append(said, "its tools stay over HTTP, as it was set up by hand")
	}
	switch {
	case s.allows == nil, s.allows(o): // c2c install says once, for all clients, that the model may call the tools without asking
	case o.Ask || byHand: // a second install would change nothing
		said = append(said, "it asks before the model calls a tool of c2c")
	default:
		said = append(said, fmt.Sprintf("it asks before the model calls a tool of c2c (after c2c uninstall %s and a new install it does not)", p.Client))
	}
	if p.Moved != nil {
		said = append(said, "c2c was taken out of "+strings.Join(p.Moved, ", "))
	}
	return strings.Join(said, "; ")
}

// AllowsTools reports, before an install is applied, whether the client's model may call c2c's
// tools without asking after it. An install changes nothing of that where c2c is set up already.
func (p *Plan) AllowsTools(o Options) bool {
	s, targets, err := findSetup(p.Client, o)
	if err != nil || p.byPlugin || s.allows == nil || o.Ask {
		return false
	}
	return s.allows(o) || !slices.ContainsFunc(targets, func(t target) bool {
		there, err := t.find()
		return err == nil && there.ours && !t.other
	})
}

// StepsLeft returns the steps that the person must still take after an applied install, each in a
// few words. c2c doctor explains them.
func (p *Plan) StepsLeft(o Options) (all []string) {
	if s, _, err := findSetup(p.Client, o); err == nil && s.inspect != nil {
		for _, f := range s.inspect(o) {
			if f.Status != format.OK {
				todo, _, _ := strings.Cut(f.Detail, ": ")
				all = append(all, todo)
			}
		}
	}
	return all
}
