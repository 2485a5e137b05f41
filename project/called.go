package project

import (
	"path/filepath"
	"slices"
	"strings"
)

// ID is the name of a root's directory. It is "" if C2C_MCP_BROKER_ROOT names the root: other
// projects do not know such a root.
func ID(root string) string {
	if StateOf(root) == "" {
		return ""
	}
	return filepath.Base(filepath.Dir(root))
}

// Called returns the projects that a name may mean: the last part of a folder or of a remote, the
// whole remote, or the id of the root. If none is spelled so, it returns those with the same label.
func Called(all []Used, name string) (found []Used) {
	for _, as := range []func(string) string{strings.Clone, label} {
		for _, u := range all {
			if ID(u.Root) == name || slices.ContainsFunc(u.Folders, func(f Folder) bool {
				return as(filepath.Base(f.Path)) == name || !f.own && (as(f.Remote) == name || as(filepath.Base(f.Remote)) == name)
			}) {
				found = append(found, u)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

// Label returns the name of a project in addresses such as amber@shop: a name that means no other
// project and is not in taken, or else the id of its root.
func Label(root string, taken []string) string {
	all, _ := In(StateOf(root)) // without all of them, the id is a name, too
	for _, u := range all {
		for _, f := range u.Folders {
			name := label(filepath.Base(f.Path))
			if u.Root != root || name == "" || slices.Contains(taken, name) {
				continue
			}
			if means := Called(all, name); len(means) == 1 && means[0].Root == root {
				return name
			}
		}
	}
	return ID(root)
}

// label spells a name as the part of an address after the @: a to z, digits and hyphens.
func label(name string) string {
	const most = 63
	name = strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(name[:min(len(name), most)], "-")
}
