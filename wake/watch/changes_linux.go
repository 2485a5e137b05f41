//go:build !portable

package watch

import (
	"time"

	"c2c/internal/inotify"
)

// recheck is the time between two checks if no event comes. So a lost event delays a message by at
// most this time.
const recheck = time.Minute

// source watches files by means of the system. A nil source means that the user has no watch instance
// left (Linux allows 128).
type source = *inotify.Watch

func newSource(tell notice) source { return inotify.Open(tell) }
