package wake

import (
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

func watch(lockFile string) (<-chan struct{}, func(), time.Duration) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return noWatch()
	}
	if err := w.Add(filepath.Dir(lockFile)); err != nil {
		w.Close()
		return noWatch()
	}
	changed := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range w.Events {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed, func() { w.Close(); <-done }, recheck
}
