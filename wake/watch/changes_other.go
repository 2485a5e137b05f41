//go:build !linux

package watch

import (
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// dirs watches the directories of the files: kqueue would miss a writer that
// closes a file without changing it.
type dirs struct {
	w    *fsnotify.Watcher
	done chan struct{}

	mu  sync.Mutex
	ids map[string]int
}

func newSource(notify func(id int)) source {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	d := &dirs{w: w, done: make(chan struct{}), ids: map[string]int{}}
	go d.read(notify)
	return d
}

func (d *dirs) read(notify func(id int)) {
	defer close(d.done)
	for {
		select {
		case event, ok := <-d.w.Events:
			if !ok {
				return
			}
			d.mu.Lock()
			id, known := d.ids[filepath.Dir(event.Name)]
			d.mu.Unlock()
			if known {
				notify(id)
			}
		case _, ok := <-d.w.Errors:
			if !ok {
				return
			}
			notify(-1)
		}
	}
}

func (d *dirs) add(file string) (id int, err error) {
	dir := filepath.Dir(file)
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

func (d *dirs) close() {
	d.w.Close()
	<-d.done
}
