package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lastWord remembers what was last said of the link to a host.
type lastWord struct {
	mu sync.Mutex
	up bool
}

func (l *lastWord) Packet(context.Context, []byte) error { return nil }

func (l *lastWord) Link(_ string, up bool) {
	if !up {
		runtime.Gosched() // another link may begin meanwhile
	}
	l.mu.Lock()
	l.up = up
	l.mu.Unlock()
}

// A relay that hears last of the end of the old link would let mail wait although there is a link.
func TestTheBeginOfALinkIsReportedAfterTheEndOfTheOneBefore(t *testing.T) {
	for range 5000 {
		last := &lastWord{}
		c := New(Config{Now: time.Now})
		c.ctx, c.handler = t.Context(), last
		one := func(dialed bool) *link {
			return &link{peer: "devbox", dialed: dialed, conn: io.NopCloser(nil), over: make(chan struct{})}
		}
		old := one(true)
		c.begin(old)
		var both sync.WaitGroup
		both.Go(func() { c.ended(old) })
		both.Go(func() { c.begin(one(false)) })
		both.Wait()
		if !last.up {
			t.Fatal("there is a link, and the last report says that there is none")
		}
	}
}

// onceFull is a listener that fails at the first call of Accept only.
type onceFull struct {
	net.Listener
	calls int
}

func (l *onceFull) Accept() (net.Conn, error) {
	if l.calls++; l.calls == 1 {
		return nil, errors.New("accept: too many open files")
	}
	return nil, net.ErrClosed
}

func TestAnAcceptThatFailsOnceIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &onceFull{}
		c := New(Config{Listener: l, Now: time.Now})
		c.accept(t.Context())
		if l.calls != 2 {
			t.Errorf("Accept was called %d times, want 2", l.calls)
		}
	})
}
