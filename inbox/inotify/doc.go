// Package inotify reports when a program has closed a file that it was writing. c2c waits for mail with it, and wake/watch uses it
// to know when to ring. It links only golang.org/x/sys. Systems other than Linux have no such watch; callers must poll there.
package inotify
