package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// FormerRoot is another root of a project: the one that it had before its git remote was changed or
// its folder renamed, or one that an older version made.
type FormerRoot struct {
	Path           string
	aliases, alive []string // of all sessions, and of those that run
	rows           []sessions.Row
}

// Former returns the other roots of the project around cwd: those that c2c project merge merges. A
// root that another project has is not among them.
func Former(getenv func(string) string, cwd string) (all []*FormerRoot) {
	recorded, others, err := project.Roots(getenv, cwd)
	root, source, ferr := broker.RootFor(callers.Caller{Getenv: getenv}, cwd)
	if err != nil || ferr != nil || source == "C2C_MCP_BROKER_ROOT" {
		return nil
	}
	for _, other := range append(others, recorded) {
		// The root of this folder need not be the recorded one, into which c2c project merge merges.
		if _, err := os.Stat(other); other == root || err != nil || len(project.Strangers(getenv, cwd, other)) > 0 {
			continue
		}
		f := &FormerRoot{Path: other, rows: rowsIn(other)}
		for _, r := range f.rows {
			f.aliases = append(f.aliases, r.Alias())
			if isAlive(r) {
				f.alive = append(f.alive, r.Alias())
			}
		}
		all = append(all, f)
	}
	return all
}

// rowsIn reads a registry. The file may belong to another user, so it is not trusted.
func rowsIn(root string) []sessions.Row {
	data, err := atomicfile.ReadForeign(filepath.Join(root, sessions.RegistryFileName), sessions.MaxRegistryBytes)
	if err != nil {
		return nil
	}
	rows, _ := sessions.ParseRegistry(data)
	return rows
}

// explains reports whether the root has a session with an alias or a session id; with "", whether
// it has any session.
func (f *FormerRoot) explains(alias string) bool {
	return slices.ContainsFunc(f.rows, func(r sessions.Row) bool { return alias == "" || isNamed(r, alias) })
}

// sentence says that an alias is in this root; with "", which sessions are in it. An agent may not
// merge roots, so it gets no command.
func (f *FormerRoot) sentence(alias string, agent bool) string {
	if alias == "" {
		alias = broker.Few(f.aliases)
	}
	advice := f.Advice()
	if agent {
		advice = "tell your user, who can bring its mail here; c2c doctor says how"
	}
	return mail.Visible("another root of this project has "+alias+": "+advice, "")
}

// Advice says what a person does about this root.
func (f *FormerRoot) Advice() string {
	if len(f.alive) == 0 {
		return "c2c project merge brings its mail here"
	}
	return fmt.Sprintf("end %s, then c2c project merge brings its mail here", broker.Few(f.alive))
}
