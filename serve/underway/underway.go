// Package underway counts running requests, so that a server can wait for the last of them before it ends. A
// sync.WaitGroup alone would panic when a request begins during that wait.
package underway

import "sync"

// Requests are those whose handlers run. Any goroutine may use it.
type Requests struct {
	running sync.WaitGroup
	mu      sync.Mutex
	over    bool
}

// Begin counts a request in, which calls Done at its end. It reports false after End: the request must not be served.
func (r *Requests) Begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.running.Add(1)
	}
	return !r.over
}

// Done counts a request out.
func (r *Requests) Done() { r.running.Done() }

// End lets no other request begin, and waits for those that run.
func (r *Requests) End() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.running.Wait()
}
