// Package project says which directory, the root, holds the mail of the project around a directory: all clones of one
// remote, and all work trees of one repository, share a root.
package project
