// Package project finds the root of a directory: the place where the mail of its project is kept. All clones of one
// remote share a root, and so do all work trees of one repository.
package project
