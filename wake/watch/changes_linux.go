//go:build !portable

package watch

import (
	"time"

	"c2c/internal/inotify"
)

// recheck is the time between two checks if no event comes. So a lost event delays a message by at
// most this time.
const recheck = time.Minute

type closes struct{ w *inotify.Watch }

func newSource(tell notice) source {
	if w := inotify.Open(tell); w != nil {
		return closes{w}
	}
	return nil // the user has no watch instance left (Linux allows 128)
}

func (c closes) add(path string) (id int, err error)       { return c.w.Add(path) }
func (c closes) addRenamed(dir string) (id int, err error) { return c.w.AddRenamed(dir) }
func (c closes) take()                                     { c.w.Take() }
func (c closes) close()                                    { c.w.Close() }
