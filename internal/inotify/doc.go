// Package inotify reports when a program has closed a file that it had open for writing. c2c uses
// the package to wait for mail, and wake/watch uses it to know when to ring. It links only
// golang.org/x/sys. It works only on Linux; on other systems callers must poll.
package inotify
