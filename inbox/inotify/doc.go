// Package inotify tells when a program has closed a file that it was writing. c2c uses it to wait for mail, and
// wake/watch to ring. It links nothing but golang.org/x/sys. Other systems than Linux have no such watch; callers
// look now and then there.
package inotify
