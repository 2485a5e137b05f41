// Package merge moves all mail and sessions from the root of an older version into the root that the project has now. A root is the
// directory with the mail of a project.
package merge
