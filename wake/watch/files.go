package watch

import (
	"path/filepath"
	"sync"
	"time"
)

// Files tells by name which files in some directories were closed by their writers, or have got another time. One goroutine
// uses it.
type Files struct {
	source source
	every  time.Duration

	mu      sync.Mutex
	dirs    map[int]string
	changed map[string]bool
	lost    bool
	told    chan struct{} // holds one
}

// NewFiles watches nothing yet.
func NewFiles() *Files {
	f := &Files{every: pollEvery, dirs: map[int]string{}, changed: map[string]bool{}, told: make(chan struct{}, 1)}
	if f.source = newSource(f.note); f.source != nil {
		f.every = recheck
	}
	return f
}

// Watch adds a directory; once more does no harm. When the system has no watch left, Every gets short.
func (f *Files) Watch(dir string) error {
	if f.source == nil {
		return nil
	}
	id, err := f.source.addTimes(dir)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirs[id] = dir
	return nil
}

// Every says how often to look at everything, told or not.
func (f *Files) Every() time.Duration { return f.every }

// Poll has everything looked at often, because not all can be watched.
func (f *Files) Poll() { f.every = pollEvery }

// Told has something in it when Take has something.
func (f *Files) Told() <-chan struct{} { return f.told }

// Take gives the files that were closed until now, since the last Take. With all, any file may have been.
func (f *Files) Take() (changed map[string]bool, all bool) {
	if f.source != nil {
		f.source.take()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	changed, all = f.changed, f.lost
	f.changed, f.lost = map[string]bool{}, false
	return changed, all
}

func (f *Files) note(id int, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if dir, known := f.dirs[id]; known {
		f.changed[filepath.Join(dir, name)] = true
	}
	f.lost = f.lost || id < 0
	select {
	case f.told <- struct{}{}:
	default:
	}
}

// Close ends the watch.
func (f *Files) Close() {
	if f.source != nil {
		f.source.close()
	}
}
