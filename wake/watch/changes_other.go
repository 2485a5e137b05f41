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

func (d *dirs) add(path string) (id int, err error) {
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

// addRenamed calls add, because dirs reports every change.
func (d *dirs) addRenamed(dir string) (id int, err error) { return d.add(dir) }

// take does nothing: dirs reports events at once.
func (d *dirs) take() {}

func (d *dirs) close() {
	d.w.Close()
	<-d.done
}
