// Package merge merges two directories of mail: it moves everything from the root of an older version into the root
// that the project has now.
package merge
