package proc

import (
	"strings"
	"sync"
)

// Tail keeps the end of what a program writes. Any goroutine may use it.
type Tail struct {
	Most int // bytes

	mu   sync.Mutex
	text []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = append([]byte(nil), t.text[max(0, len(t.text)-t.Most):]...)
	return len(p), nil
}

// String returns the end of the text, as valid UTF-8.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "?")
}
