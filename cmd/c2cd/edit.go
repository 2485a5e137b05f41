package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/install"
	"c2c/sessions"
)

// maxPlans is how many plans edit makes at most for one client. A new plan is necessary if a file
// has changed since the last plan.
const maxPlans = 5

// editor is one run of c2c install or of c2c uninstall. Each of the two has its own function plan.
type editor struct {
	*app
	o            install.Options
	plan         func(string, install.Options) (*install.Plan, error)
	undo         bool // this is c2c uninstall
	dry, verbose bool

	diffs strings.Builder // the diffs of --dry-run, printed after the summary
	brief bool            // in diffs, a file that is c2c's own is only one line
	told  []string        // what it has said of the clients before it writes
	fresh []string        // the clients whose configuration this run has changed
}

// edit plans and applies the edits of each client, and returns the clients for which that
// succeeded. A client with damaged files does not stop the other clients. If tellAll is set, edit
// prints a line for each client, even if nothing changes.
func (e *editor) edit(names []string, tellAll bool) (done []string, failed error) {
	said := false
	for _, name := range names {
		var p *install.Plan
		err := install.ErrChanged
		for range maxPlans { // try again: a running client may write its files in between
			if !errors.Is(err, install.ErrChanged) {
				break
			}
			if p, err = e.plan(name, e.o); err == nil {
				err = e.apply(p, tellAll, &said)
			}
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		done = append(done, name)
		for _, err := range p.Left {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	if !said && failed == nil {
		fmt.Fprintln(e.stdout, "c2c is set up in no client: there is nothing to take out")
	}
	if e.dry && said {
		hint := ""
		if e.brief {
			hint = "; add --verbose to see the text of c2c's own files"
		}
		fmt.Fprintf(e.stdout, "nothing was changed (--dry-run)%s\n%s", hint, e.diffs.String())
	}
	return done, failed
}

// apply carries out a plan, and prints a line about the client. If it prints something, it sets
// *said.
func (e *editor) apply(p *install.Plan, tellAll bool, said *bool) error {
	if !e.undo && !p.Empty() {
		e.tellCost(p)
	}
	if !e.dry {
		if err := e.carryOut(p); err != nil {
			return err
		}
	}
	if e.undo && p.Empty() && p.Left == nil && p.Notes == nil && !tellAll {
		return nil
	}
	*said = true
	switch {
	case e.dry:
		fmt.Fprintf(e.stdout, "%s: %s\n", p.Client, p.Summary())
		e.diffs.WriteString(p.Diff(e.verbose))
		e.brief = e.brief || !e.verbose && slices.ContainsFunc(p.Changes, func(c install.Change) bool { return c.Own })
		return nil
	case e.verbose:
		fmt.Fprint(e.stdout, p.Diff(e.verbose)) // only now is it certain that this plan was carried out, and not a later one
	}
	switch {
	case !e.undo:
		words := append([]string{p.Outcome(e.o)}, p.StepsLeft(e.o)...)
		fmt.Fprintf(e.stdout, "%s: %s\n", p.Client, strings.Join(words, "; "))
		if !p.Empty() {
			e.fresh = append(e.fresh, p.Client)
		}
	case p.Left != nil:
		fmt.Fprintf(e.stdout, "%s: not all is undone\n", p.Client)
	case p.Empty():
		fmt.Fprintf(e.stdout, "%s: nothing to take out\n", p.Client)
	default:
		fmt.Fprintf(e.stdout, "%s: taken out; a session that still runs gets no mail\n", p.Client)
	}
	if len(p.Notes) > 0 {
		fmt.Fprintf(e.stdout, "%s: note: %s\n", p.Client, strings.Join(p.Notes, "; "))
	}
	return nil
}

// tellCost says, once and before anything is written, what c2c will cost each session, and that its
// tools need no consent.
func (e *editor) tellCost(p *install.Plan) {
	lines := []string{"c2c adds up to 4,000 bytes of tools and instructions to each session"} // e2e/budget
	if p.AllowsTools(e.o) {
		lines = append(lines, "tools of c2c run without asking (--ask: they ask)")
	}
	for _, line := range lines {
		if !slices.Contains(e.told, line) {
			e.told = append(e.told, line)
			fmt.Fprintln(e.stdout, line)
		}
	}
}

// carryOut applies a plan. Before an uninstall it marks the client, so that c2c's running programs
// do not wake the client in the middle of the uninstall.
func (e *editor) carryOut(p *install.Plan) error {
	marks := e.undo && !p.Empty()
	if marks {
		if err := sessions.MarkUninstalled(e.getenv, p.Client, p.OneOf()); err != nil {
			return err
		}
	}
	// Call Apply even if nothing changes: it also removes records for undo that are of no use any
	// more.
	err := p.Apply()
	if !e.undo && err == nil || marks && err != nil { // the client is set up now, or is still set up
		err = errors.Join(err, sessions.ClearUninstalled(e.getenv, p.Client))
	}
	return err
}
