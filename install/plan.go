package install

import (
	"fmt"
	"slices"
	"strings"
)

// A Plan is a list of edits to one client's files. Only one goroutine may use it.
type Plan struct {
	Client  string
	Changes []Change
	Notes   []string // what the person should know afterwards
	Moved   []string // files of single projects from which an install for all projects removes c2c
	Left    []error  // only of an uninstall: an error for each file that it cannot edit

	home     string
	config   string // the client's configuration directory
	stateDir string
	journal  *journal
	recorded bool                  // the plan has added records to the journal
	finished []string              // the files for which Apply can drop the undo record
	again    func() (*Plan, error) // makes the plan again
	made     []string              // directories that the method lock has made
	byPlugin bool                  // a marketplace plugin already sets up the same
	overlaps bool                  // another plan may have been applied while this plan was made
}

// Empty reports whether the plan edits no file. Apply accepts an empty plan: it then only drops
// undo records that are no longer needed.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 }

// isOther reports whether r belongs to another configuration directory of the client. This plan
// leaves such a directory alone.
func (p *Plan) isOther(r *record) bool { return r.Config != "" && r.Config != p.config }

// OneOf returns the plan's configuration directory if c2c is also set up in another configuration
// directory of the same client; otherwise "".
func (p *Plan) OneOf() string {
	if slices.ContainsFunc(p.journal.Files, func(r *record) bool { return r.Client == p.Client && p.isOther(r) }) {
		return p.config
	}
	return ""
}

// Summary returns how many files the plan changes, makes and removes, in words.
func (p *Plan) Summary() string {
	count := map[string]int{}
	for _, c := range p.Changes {
		switch {
		case c.Before == nil:
			count["new"]++
		case c.After == nil:
			count["removed"]++
		default:
			count["changed"]++
		}
	}
	var said []string
	for _, what := range []string{"new", "changed", "removed"} {
		if count[what] > 0 {
			said = append(said, fmt.Sprintf("%d %s", count[what], what))
		}
	}
	if said == nil {
		return "nothing to change"
	}
	return "files: " + strings.Join(said, ", ")
}
