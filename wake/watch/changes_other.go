//go:build !linux || portable

package watch

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// recheck is as short as pollEvery, because the watch misses something: kqueue reports changes, but
// not that a file was closed without a change. The end of a killed reader closes its lease file in
// this way.
const recheck = time.Second

// dirs watches directories. For a file it watches the file's directory, because the file may be
// replaced.
type dirs struct {
	w    *fsnotify.Watcher
	done chan struct{}

	mu  sync.Mutex
	ids map[string]int
}

// source watches files by means of the system. A nil source means that the system has no watch left.
type source = *dirs

func newSource(tell notice) source {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	d := &dirs{w: w, done: make(chan struct{}), ids: map[string]int{}}
	go d.read(tell)
	return d
}

func (d *dirs) read(tell notice) {
	defer close(d.done)
	for {
		select {
		case event, ok := <-d.w.Events:
			if !ok {
				return
			}
			for _, path := range []string{event.Name, filepath.Dir(event.Name)} {
				d.mu.Lock()
				id, known := d.ids[path]
				d.mu.Unlock()
				if known {
					tell(id, filepath.Base(event.Name))
				}
			}
		case _, ok := <-d.w.Errors:
			if !ok {
				return
			}
			tell(-1, "")
		}
	}
}

// Add returns the number that events of this file carry.
func (d *dirs) Add(path string) (id int, err error) {
	dir := filepath.Clean(path)
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	if err := d.w.Add(dir); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id, known := d.ids[dir]
	if !known {
		id = len(d.ids)
		d.ids[dir] = id
	}
	return id, nil
}

// AddRenamed calls Add, because dirs reports every change.
func (d *dirs) AddRenamed(dir string) (id int, err error) { return d.Add(dir) }

// Take does nothing: dirs reports events at once.
func (d *dirs) Take() {}

// Close ends the watch.
func (d *dirs) Close() {
	d.w.Close()
	<-d.done
}
