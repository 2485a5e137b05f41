// Package project finds the project of a directory, and the project's root: the directory where c2c
// keeps the project's mail. All clones of one git remote share a root, and so do all work trees of
// one repository. A person may split a clone from the others.
package project
