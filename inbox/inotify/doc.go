// Package inotify tells when files are closed by their writers. c2c uses it to wait for mail, and wake/watch to ring: it
// links nothing but golang.org/x/sys. On other systems than Linux there is no such watch, and its users look now and then.
package inotify
