package serve

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"c2c/broker"
	"c2c/serve/live"
)

// One root's worker panics, as if a file of its were damaged in a way that nobody thought of. The
// other root's goes on, and it begins again itself.
func TestAPanicInOneRootEndsNoOther(t *testing.T) {
	r := &roots{dir: t.TempDir()}
	sick, well := r.path(t, "sick"), r.path(t, "well")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := newOpenRoots(r.open, time.Minute, slog.New(slog.NewTextHandler(&log, nil)))
		var mu sync.Mutex // of what is below
		var looks [2]int  // at the first place, and at the other one
		ended := 0
		p.whileOpen = func(ctx context.Context, b *broker.Broker) {
			mu.Lock()
			defer mu.Unlock()
			which := 0
			if b.Root() == well {
				which = 1
			}
			if looks[which]++; looks[0] < 3 && which == 0 {
				panic("words of a message")
			}
			mu.Unlock()
			<-ctx.Done()
			mu.Lock()
			ended++
		}
		_, badDone, err := p.use(sick)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		mu.Lock()
		if looks[0] != 1 || !strings.Contains(log.String(), "root="+sick) || strings.Contains(log.String(), "words of") {
			t.Errorf("%d looks, %s", looks[0], &log)
		}
		mu.Unlock()
		_, goodDone, err := p.use(well)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		if looks != [2]int{3, 1} || ended > 0 {
			t.Errorf("looks %d, %d ended", looks, ended)
		}
		mu.Unlock()
		badDone()
		goodDone()
		p.end()
	})
}

// Whoever asks is told, and does not wait for ever.
func TestWhoAsksForARootWhoseReaderPanickedIsTold(t *testing.T) {
	h, ended := live.NewHub(new(broker.Broker)), make(chan any) // it has no root: a nil dereference
	go func() {
		defer func() { ended <- recover() }()
		h.Run(t.Context())
	}()
	if _, err := h.Now(t.Context()); err == nil || !strings.Contains(err.Error(), "its log says where") {
		t.Errorf("%v", err)
	}
	if p := <-ended; p == nil {
		t.Error("its caller hears of no panic")
	}
}
