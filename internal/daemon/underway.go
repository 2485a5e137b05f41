// This part counts running requests, so that a server can wait for all of them before it ends. A
// sync.WaitGroup alone would panic if a request began while the server waits.

package daemon

import "sync"

// Underway counts the requests whose handlers run. Any goroutine may use it.
type Underway struct {
	running sync.WaitGroup
	mu      sync.Mutex
	over    bool
}

// Begin adds a request; the caller calls Done at the request's end. After End, Begin returns false,
// and the caller must not serve the request.
func (r *Underway) Begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.running.Add(1)
	}
	return !r.over
}

// Done removes a request.
func (r *Underway) Done() { r.running.Done() }

// End makes Begin return false from now on, and waits for the running requests.
func (r *Underway) End() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.running.Wait()
}
