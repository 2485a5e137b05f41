package watch

import (
	"path/filepath"
	"sync"
	"time"
)

// Files reports, by name, which files in some directories were closed by their writers, or got another time. Only one
// goroutine may use it.
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

// Watch adds a directory; a second call for it does no harm. If the system has no watch left, Every gets short.
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

// Every returns how often to look at everything, even without a report.
func (f *Files) Every() time.Duration { return f.every }

// Poll makes Every short, because the system cannot watch all files.
func (f *Files) Poll() { f.every = pollEvery }

// Told gets a value when Take has files to return.
func (f *Files) Told() <-chan struct{} { return f.told }

// Take returns the files that were closed since the last Take. If all is true, any file may have been closed.
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
