package install

import (
	"errors"
	"slices"

	"c2c/client"
)

// OverHTTP returns the names of the clients that reach c2c's tools over HTTP.
func OverHTTP(o Options) (names []string) {
	for _, name := range client.Names() {
		_, targets, err := findSetup(name, o)
		if err == nil && slices.ContainsFunc(targets, target.overHTTP) {
			names = append(names, name)
		}
	}
	return names
}

// HTTPByHand reports whether a person has written the entry over HTTP by hand. Install neither
// writes nor corrects such an entry.
func HTTPByHand(name string, o Options) bool {
	return !CanHTTP(name) && slices.Contains(OverHTTP(o), name)
}

// KeyFiles returns the files into which an install over HTTP writes the token, with links followed.
func KeyFiles(name string, o Options) (paths []string, err error) {
	_, targets, err := findSetup(name, o)
	for _, t := range targets {
		if t.private {
			path, lerr := FollowLink(t.path)
			paths, err = append(paths, path), errors.Join(err, lerr)
		}
	}
	return paths, err
}

// CanHTTP reports whether c2c install can set a client up over HTTP.
func CanHTTP(name string) bool { return registered[name].overHTTP }
