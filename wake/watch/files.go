package watch

import (
	"path/filepath"
	"sync"
	"time"
)

// Files watches some directories. It reports the path of each file there that a writer has closed
// or replaced. Only one goroutine may use it.
type Files struct {
	source source
	every  time.Duration

	mu      sync.Mutex
	dirs    map[int]string  // the path of each directory, by the number that the source's method AddRenamed has returned
	changed map[string]bool // the files for the next call of Take
	lost    bool            // the system lost events, so any file may have changed
	told    chan struct{}   // see the method Told; has room for one value
}

// NewFiles returns a Files that watches nothing yet.
func NewFiles() *Files {
	f := &Files{every: pollEvery, dirs: map[int]string{}, changed: map[string]bool{}, told: make(chan struct{}, 1)}
	if f.source = newSource(f.note); f.source != nil {
		f.every = recheck
	}
	return f
}

// Watch adds a directory; it does no harm to add a directory twice. If NewFiles got no watch of the
// system, Watch does nothing, and Every returns a short time. After an error, the caller may call
// Poll.
func (f *Files) Watch(dir string) error {
	if f.source == nil {
		return nil
	}
	id, err := f.source.AddRenamed(dir)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirs[id] = dir
	return nil
}

// Every returns the time after which the caller should check all files, even without a report.
func (f *Files) Every() time.Duration { return f.every }

// Poll makes Every return a short time. Callers use it if the system cannot watch all files.
func (f *Files) Poll() { f.every = pollEvery }

// Sure reports whether Take returns every change that was made before the call. If not, an event
// may come late, or not at all.
func (f *Files) Sure() bool { return f.every > pollEvery }

// The channel Told gets a value when Take has files to return.
func (f *Files) Told() <-chan struct{} { return f.told }

// Take returns the files that were reported since the last Take. If all is true, any file may have
// changed.
func (f *Files) Take() (changed map[string]bool, all bool) {
	if f.source != nil {
		f.source.Take()
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
		f.source.Close()
	}
}
